from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Cfg:
    hidden: int = 256
    res_hidden: int = 64
    n_res: int = 4
    n_codes: int = 1024
    code_dim: int = 128
    beta: float = 0.25
    decay: float = 0.99
    image: int = 128
    bs: int = 32
    val_bs: int = 64
    lr: float = 3e-4
    epochs: int = 2


class VectorQuantizerEMA(nn.Module):
    def __init__(self, n_codes, dim, beta, decay, eps=1e-5):
        super().__init__()
        self.n_codes, self.dim, self.beta, self.decay, self.eps = n_codes, dim, beta, decay, eps
        self.embedding = nn.Embedding(n_codes, dim)
        self.embedding.weight.data.normal_()
        self.embedding.weight.requires_grad = False
        self.register_buffer("cluster_size", torch.zeros(n_codes))
        self.register_buffer("ema_w", self.embedding.weight.data.clone())

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, self.dim)
        distances = (torch.sum(flat ** 2, dim=1, keepdim=True)
                     + torch.sum(self.embedding.weight ** 2, dim=1)
                     - 2 * torch.matmul(flat, self.embedding.weight.t()))
        idx = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(idx.shape[0], self.n_codes, device=z.device)
        encodings.scatter_(1, idx, 1)
        quantized = torch.matmul(encodings, self.embedding.weight).view(z.shape)
        if self.training:
            with torch.no_grad():
                self.cluster_size.mul_(self.decay).add_(encodings.sum(0), alpha=1 - self.decay)
                n = self.cluster_size.sum()
                size = (self.cluster_size + self.eps) / (n + self.n_codes * self.eps) * n
                dw = torch.matmul(encodings.t(), flat)
                self.ema_w.mul_(self.decay).add_(dw, alpha=1 - self.decay)
                self.embedding.weight.data.copy_(self.ema_w / size.unsqueeze(1))
        loss = self.beta * F.mse_loss(quantized.detach(), z)
        quantized = z + (quantized - z).detach()
        avg = encodings.mean(0)
        perplexity = torch.exp(-torch.sum(avg * torch.log(avg + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity


class Residual(nn.Module):
    def __init__(self, c, h):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReLU(True), nn.Conv2d(c, h, 3, 1, 1, bias=False), nn.ReLU(True), nn.Conv2d(h, c, 1, bias=False))

    def forward(self, x):
        return x + self.block(x.clone())


class VQVAE(nn.Module):
    def __init__(self, c: Cfg):
        super().__init__()
        h = c.hidden
        self.enc = nn.Sequential(
            nn.Conv2d(3, h // 2, 4, 2, 1), nn.ReLU(True),
            nn.Conv2d(h // 2, h, 4, 2, 1), nn.ReLU(True),
            nn.Conv2d(h, h, 3, 1, 1),
            *[Residual(h, c.res_hidden) for _ in range(c.n_res)], nn.ReLU(True),
            nn.Conv2d(h, c.code_dim, 1))
        self.vq = VectorQuantizerEMA(c.n_codes, c.code_dim, c.beta, c.decay)
        self.dec = nn.Sequential(
            nn.Conv2d(c.code_dim, h, 3, 1, 1),
            *[Residual(h, c.res_hidden) for _ in range(c.n_res)], nn.ReLU(True),
            nn.ConvTranspose2d(h, h // 2, 4, 2, 1), nn.ReLU(True),
            nn.ConvTranspose2d(h // 2, 3, 4, 2, 1))

    def forward(self, x):
        vq_loss, q, ppl = self.vq(self.enc(x))
        return vq_loss, self.dec(q), ppl


def train_one_epoch(model, loader, opt, var):
    model.train()
    rec_hist, ppl_hist = [], []
    for (x,) in loader:
        x = x.to("cuda")
        opt.zero_grad()
        vq_loss, xr, ppl = model(x)
        rec = F.mse_loss(xr, x) / var
        (rec + vq_loss).backward()
        opt.step()
        rec_hist.append(rec.item())
        ppl_hist.append(ppl.item())
    return sum(rec_hist) / len(rec_hist), sum(ppl_hist) / len(ppl_hist)


def validate(model, loader):
    model.eval()
    tot = 0
    with torch.no_grad():
        for (x,) in loader:
            x = x.to("cuda")
            _, xr, _ = model(x)
            tot += F.mse_loss(xr, x, reduction="sum").item() / x[0].numel()
    return tot / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    for k, v in Cfg().__dict__.items():
        ap.add_argument(f"--{k}", type=type(v), default=v)
    c = Cfg(**vars(ap.parse_args()))
    torch.manual_seed(1)
    tr = torch.rand(c.bs * 6 + 5, 3, c.image, c.image) - 0.5
    va = torch.rand(150, 3, c.image, c.image) - 0.5
    var = tr.var().item()
    tl = DataLoader(TensorDataset(tr), batch_size=c.bs, shuffle=True, pin_memory=True)
    vl = DataLoader(TensorDataset(va), batch_size=c.val_bs)
    model = VQVAE(c).to("cuda")
    opt = torch.optim.Adam(model.parameters(), lr=c.lr, amsgrad=False)
    for ep in range(c.epochs):
        r, p = train_one_epoch(model, tl, opt, var)
        v = validate(model, vl)
        print(f"epoch {ep}: recon {r:.4f} perplexity {p:.1f} val {v:.4f}")


if __name__ == "__main__":
    main()
