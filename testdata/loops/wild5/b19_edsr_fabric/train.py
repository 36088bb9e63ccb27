import argparse
import math

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, Dataset

from edsr import EDSR


class PatchPairs(Dataset):
    def __init__(self, n, patch, scale):
        self.n, self.patch, self.scale = n, patch, scale

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        lo = torch.rand(1, 3, self.patch // 4, self.patch // 4, generator=g) * 255
        hr = F.interpolate(lo, size=self.patch, mode="bicubic").clamp(0, 255)
        lr = F.interpolate(hr, scale_factor=1 / self.scale, mode="bicubic", antialias=True).clamp(0, 255)
        return lr[0], hr[0]


def psnr(a, b):
    return 10 * math.log10(255 ** 2 / max(F.mse_loss(a.clamp(0, 255), b).item(), 1e-9))


def validate(fabric, model, loader):
    model.eval()
    vals = []
    with torch.no_grad():
        for lr, hr in loader:
            vals.append(psnr(model(lr).float(), hr))
    model.train()
    fabric.print(f"val psnr {sum(vals) / len(vals):.2f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--scale", type=int, default=4)
    p.add_argument("--patch", type=int, default=192)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--precision", default="bf16-mixed")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--val-patch", type=int, default=512)
    a = p.parse_args()

    fabric = Fabric(accelerator="cuda", devices=1, precision=a.precision)
    fabric.launch()
    fabric.seed_everything(5)
    model = EDSR(a.scale)
    opt = torch.optim.Adam([q for q in model.parameters() if q.requires_grad], lr=1e-4, betas=(0.9, 0.999), eps=1e-8)
    model, opt = fabric.setup(model, opt)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    tl, vl = fabric.setup_dataloaders(
        DataLoader(PatchPairs(a.batch * 5, a.patch, a.scale), batch_size=a.batch, shuffle=True, drop_last=True),
        DataLoader(PatchPairs(3, a.val_patch, a.scale), batch_size=1))
    for epoch in range(a.epochs):
        for i, (lr, hr) in enumerate(tl):
            opt.zero_grad()
            sr = model(lr)
            loss = F.l1_loss(sr, hr)
            fabric.backward(loss)
            fabric.clip_gradients(model, opt, max_norm=10.0)
            opt.step()
            fabric.print(f"epoch {epoch} it {i} L1 {loss.item():.3f}")
        sched.step()
        validate(fabric, model, vl)


if __name__ == "__main__":
    main()
