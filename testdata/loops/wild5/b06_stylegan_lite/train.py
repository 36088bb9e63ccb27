import argparse
import math
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import autograd, optim
from tqdm import tqdm

from networks import Discriminator, Generator


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def accumulate(model1, model2, decay=0.999):
    par1 = dict(model1.named_parameters())
    par2 = dict(model2.named_parameters())
    for k in par1.keys():
        par1[k].data.mul_(decay).add_(par2[k].data, alpha=1 - decay)


def sample_data(n, size, batch):
    pool = torch.rand(n, 3, size, size) * 2 - 1
    while True:
        perm = torch.randperm(n)
        for i in range(0, n - batch + 1, batch):
            yield pool[perm[i:i + batch]]


def d_r1_loss(real_pred, real_img):
    grad_real, = autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def g_path_regularize(fake_img, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(fake_img) / math.sqrt(fake_img.shape[2] * fake_img.shape[3])
    grad, = autograd.grad(outputs=(fake_img * noise).sum(), inputs=latents, create_graph=True)
    path_lengths = torch.sqrt(grad.pow(2).sum(1))
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    path_penalty = (path_lengths - path_mean).pow(2).mean()
    return path_penalty, path_mean.detach(), path_lengths


parser = argparse.ArgumentParser()
parser.add_argument("--iter", type=int, default=8)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--size", type=int, default=128)
parser.add_argument("--r1", type=float, default=10)
parser.add_argument("--path_regularize", type=float, default=2)
parser.add_argument("--path_batch_shrink", type=int, default=2)
parser.add_argument("--d_reg_every", type=int, default=4)
parser.add_argument("--g_reg_every", type=int, default=4)
parser.add_argument("--lr", type=float, default=0.002)
args = parser.parse_args()
device = "cuda"

generator = Generator(args.size).to(device)
discriminator = Discriminator(args.size).to(device)
g_ema = deepcopy(generator)
g_ema.eval()
accumulate(g_ema, generator, 0)

g_ratio = args.g_reg_every / (args.g_reg_every + 1)
d_ratio = args.d_reg_every / (args.d_reg_every + 1)
g_optim = optim.Adam(generator.parameters(), lr=args.lr * g_ratio, betas=(0 ** g_ratio, 0.99 ** g_ratio))
d_optim = optim.Adam(discriminator.parameters(), lr=args.lr * d_ratio, betas=(0 ** d_ratio, 0.99 ** d_ratio))

loader = sample_data(96, args.size, args.batch)
mean_path_length = 0
sample_z = torch.randn(16, 512, device=device)
pbar = tqdm(range(args.iter))
for i in pbar:
    real_img = next(loader).to(device)

    requires_grad(generator, False)
    requires_grad(discriminator, True)
    fake_img = generator(torch.randn(args.batch, 512, device=device))
    fake_pred = discriminator(fake_img)
    real_pred = discriminator(real_img)
    d_loss = F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()
    discriminator.zero_grad()
    d_loss.backward()
    d_optim.step()

    if i % args.d_reg_every == 0:
        real_img.requires_grad = True
        real_pred = discriminator(real_img)
        r1_loss = d_r1_loss(real_pred, real_img)
        discriminator.zero_grad()
        (args.r1 / 2 * r1_loss * args.d_reg_every + 0 * real_pred[0]).backward()
        d_optim.step()

    requires_grad(generator, True)
    requires_grad(discriminator, False)
    fake_img = generator(torch.randn(args.batch, 512, device=device))
    g_loss = F.softplus(-discriminator(fake_img)).mean()
    generator.zero_grad()
    g_loss.backward()
    g_optim.step()

    if i % args.g_reg_every == 0:
        pb = max(1, args.batch // args.path_batch_shrink)
        fake_img, latents = generator(torch.randn(pb, 512, device=device), return_w=True)
        path_loss, mean_path_length, path_lengths = g_path_regularize(fake_img, latents, mean_path_length)
        generator.zero_grad()
        wl = args.path_regularize * args.g_reg_every * path_loss
        wl += 0 * fake_img[0, 0, 0, 0]
        wl.backward()
        g_optim.step()

    accumulate(g_ema, generator, 0.5 ** (32 / (10 * 1000)))
    pbar.set_description(f"d: {d_loss.item():.4f}; g: {g_loss.item():.4f}; r1: {r1_loss.item():.4f}; "
                         f"path: {path_loss.item():.4f}")

with torch.no_grad():
    sample = g_ema(sample_z)
print(sample.shape, float(sample.std()))
