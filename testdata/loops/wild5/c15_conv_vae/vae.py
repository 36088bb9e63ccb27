import argparse

import torch
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description="CelebA-like VAE")
parser.add_argument("--batch-size", type=int, default=144)
parser.add_argument("--latent-dim", type=int, default=128)
parser.add_argument("--beta", type=float, default=1.0)
parser.add_argument("--n-batches", type=int, default=10)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda")


class VanillaVAE(nn.Module):
    def __init__(self, in_channels=3, latent_dim=128, hidden_dims=(64, 128, 256, 512), img=128):
        super().__init__()
        self.latent_dim = latent_dim
        modules = []
        c = in_channels
        for h in hidden_dims:
            modules.append(nn.Sequential(
                nn.Conv2d(c, h, 3, stride=1, padding=1), nn.BatchNorm2d(h), nn.LeakyReLU(),
                nn.Conv2d(h, h, 3, stride=2, padding=1), nn.BatchNorm2d(h), nn.LeakyReLU(),
            ))
            c = h
        self.encoder = nn.Sequential(*modules)
        self.side = img // 2 ** len(hidden_dims)
        flat = hidden_dims[-1] * self.side ** 2
        self.fc_mu = nn.Linear(flat, latent_dim)
        self.fc_var = nn.Linear(flat, latent_dim)
        self.decoder_input = nn.Linear(latent_dim, flat)
        rev = list(reversed(hidden_dims))
        modules = []
        for i in range(len(rev) - 1):
            modules.append(nn.Sequential(
                nn.ConvTranspose2d(rev[i], rev[i + 1], 3, stride=2, padding=1, output_padding=1),
                nn.BatchNorm2d(rev[i + 1]), nn.LeakyReLU(),
            ))
        self.decoder = nn.Sequential(*modules)
        self.final_layer = nn.Sequential(
            nn.ConvTranspose2d(rev[-1], rev[-1], 3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(rev[-1]), nn.LeakyReLU(),
            nn.Conv2d(rev[-1], in_channels, 3, padding=1), nn.Tanh(),
        )
        self.c_last = rev[0]

    def encode(self, x):
        h = torch.flatten(self.encoder(x), start_dim=1)
        return self.fc_mu(h), self.fc_var(h)

    def decode(self, z):
        h = self.decoder_input(z).view(-1, self.c_last, self.side, self.side)
        return self.final_layer(self.decoder(h))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    def sample(self, n):
        return self.decode(torch.randn(n, self.latent_dim, device=device))


def loss_function(recon_x, x, mu, logvar):
    mse = F.mse_loss(recon_x, x, reduction="sum") / x.size(0)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    return mse + args.beta * kld, mse, kld


def fake_faces(n):
    low = torch.rand(n, 3, 16, 16)
    return F.interpolate(low, size=128, mode="bilinear", align_corners=False) * 2 - 1


model = VanillaVAE(latent_dim=args.latent_dim).to(device)
optimizer = optim.Adam(model.parameters(), lr=5e-4)
scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)

model.train()
train_loss = 0
for batch_idx in range(args.n_batches):
    data = fake_faces(args.batch_size).to(device)
    optimizer.zero_grad()
    recon_batch, mu, logvar = model(data)
    loss, mse, kld = loss_function(recon_batch, data, mu, logvar)
    loss.backward()
    train_loss += loss.item()
    optimizer.step()
    print("[{}/{}] Loss: {:.4f} rec {:.2f} kl {:.4f}".format(batch_idx, args.n_batches, loss.item(), mse.item(), kld.item()))
scheduler.step()
print("====> Average loss: {:.4f}".format(train_loss / args.n_batches))

with torch.no_grad():
    model.eval()
    sample = model.sample(64).cpu()
    print(sample.shape, sample.min(), sample.max())
