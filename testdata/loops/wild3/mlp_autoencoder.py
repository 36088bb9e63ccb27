"""A plain autoencoder on vectors with batch norm, two losses and a manual learning-rate drop."""
import argparse

import torch
import torch.nn as nn


def block(a, b):
    return nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.LeakyReLU(0.2), nn.Dropout(0.1))


class AutoEncoder(nn.Module):
    def __init__(self, dim, hidden=(4096, 2048), code=128):
        super().__init__()
        sizes = [dim, *hidden]
        self.enc = nn.Sequential(*[block(a, b) for a, b in zip(sizes, sizes[1:])], nn.Linear(sizes[-1], code))
        rev = [code, *reversed(hidden)]
        self.dec = nn.Sequential(*[block(a, b) for a, b in zip(rev, rev[1:])], nn.Linear(rev[-1], dim))

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), z


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--dim", type=int, default=8192)
    args = parser.parse_args()
    torch.manual_seed(0)
    net = AutoEncoder(args.dim).cuda()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    mse = nn.MSELoss()
    for step in range(8):
        x = torch.randn(args.batch_size, args.dim, device="cuda")
        noisy = x + 0.1 * torch.randn_like(x)
        recon, z = net(noisy)
        loss = mse(recon, x) + 1e-4 * z.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step == 5:
            for group in opt.param_groups:
                group["lr"] *= 0.1
        print(step, loss.item())


main()
