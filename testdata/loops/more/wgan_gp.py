"""A critic with WGAN-GP's gradient penalty, on feature vectors."""
import argparse

import torch
from torch import nn, autograd

p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=4096)
p.add_argument("--width", type=int, default=1024)
args = p.parse_args()
dev = torch.device("cuda")
critic = nn.Sequential(nn.Linear(512, args.width), nn.LeakyReLU(0.2), nn.Linear(args.width, args.width), nn.LayerNorm(args.width), nn.GELU(), nn.Linear(args.width, 1)).to(dev)
generator = nn.Sequential(nn.Linear(128, args.width), nn.ReLU(), nn.Linear(args.width, 512), nn.Tanh()).to(dev)
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9))


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1, device=dev)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mixed)
    grad = autograd.grad(outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for step in range(6):
    real = torch.randn(args.batch_size, 512, device=dev)
    fake = generator(torch.randn(args.batch_size, 128, device=dev)).detach()
    loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * gradient_penalty(real, fake)
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    loss_g = -critic(generator(torch.randn(args.batch_size, 128, device=dev))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    print(step, loss_c.item(), loss_g.item())
