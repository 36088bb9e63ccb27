"""A U-Net: double convolutions with group norm, max pooling on the way down, nearest upsampling on the way up."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F


def double(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, kernel_size=3, padding=1), nn.GroupNorm(8, b), nn.SiLU(),
        nn.Conv2d(b, b, kernel_size=3, padding="same"), nn.GroupNorm(8, b), nn.SiLU(),
    )


class UNet(nn.Module):
    def __init__(self, channels=(32, 64, 128, 256), classes=4):
        super().__init__()
        self.inc = double(3, channels[0])
        self.down = nn.ModuleList([double(a, b) for a, b in zip(channels, channels[1:])])
        self.up = nn.ModuleList([double(a + b, a) for a, b in zip(channels, channels[1:])])
        self.pool = nn.MaxPool2d(2)
        self.outc = nn.Conv2d(channels[0], classes, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for layer in self.down:
            skips.append(layer(self.pool(skips[-1])))
        x = skips.pop()
        for layer in reversed(self.up):
            skip = skips.pop()
            x = F.interpolate(x, size=skip.shape[-2:], mode="nearest")
            x = layer(torch.cat([skip, x], dim=1))
        return self.outc(x)


def dice_loss(logits, target, eps=1e-6):
    p = logits.softmax(1)
    t = F.one_hot(target, p.shape[1]).permute(0, 3, 1, 2).float()
    inter = (p * t).sum((2, 3))
    return 1 - ((2 * inter + eps) / (p.sum((2, 3)) + t.sum((2, 3)) + eps)).mean()


parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--size", type=int, default=128)
opt = parser.parse_args()
model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    images = torch.randn(opt.batch_size, 3, opt.size, opt.size).cuda()
    masks = torch.randint(0, 4, (opt.batch_size, opt.size, opt.size)).cuda()
    logits = model(images)
    loss = F.cross_entropy(logits, masks) + dice_loss(logits, masks)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
