import math
import torch
from torch import nn
import torch.nn.functional as F


class EqualLinear(nn.Module):
    def __init__(self, i, o, bias_init=0.0, lr_mul=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) / lr_mul)
        self.bias = nn.Parameter(torch.full((o,), float(bias_init)))
        self.scale = lr_mul / math.sqrt(i)
        self.lr_mul = lr_mul

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias * self.lr_mul)


class EqualConv2d(nn.Module):
    def __init__(self, i, o, k, stride=1, padding=0, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i, k, k))
        self.bias = nn.Parameter(torch.zeros(o)) if bias else None
        self.scale = 1 / math.sqrt(i * k * k)
        self.stride, self.padding = stride, padding

    def forward(self, x):
        return F.conv2d(x, self.weight * self.scale, self.bias, self.stride, self.padding)


class ModulatedConv2d(nn.Module):
    def __init__(self, i, o, k, style_dim, demod=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, o, i, k, k))
        self.affine = EqualLinear(style_dim, i, bias_init=1)
        self.scale = 1 / math.sqrt(i * k * k)
        self.demod, self.o, self.k = demod, o, k

    def forward(self, x, w):
        b, c, h, ww = x.shape
        s = self.affine(w).view(b, 1, c, 1, 1)
        weight = self.scale * self.weight * s
        if self.demod:
            d = torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8)
            weight = weight * d.view(b, self.o, 1, 1, 1)
        weight = weight.view(b * self.o, c, self.k, self.k)
        out = F.conv2d(x.reshape(1, b * c, h, ww), weight, padding=self.k // 2, groups=b)
        return out.view(b, self.o, h, ww)


class StyledConv(nn.Module):
    def __init__(self, i, o, style_dim, up=False):
        super().__init__()
        self.conv = ModulatedConv2d(i, o, 3, style_dim)
        self.noise = nn.Parameter(torch.zeros(1))
        self.bias = nn.Parameter(torch.zeros(1, o, 1, 1))
        self.up = up

    def forward(self, x, w):
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = self.conv(x, w)
        n = torch.randn(x.size(0), 1, x.size(2), x.size(3), device=x.device)
        return F.leaky_relu(x + self.noise * n + self.bias, 0.2) * math.sqrt(2)


class ToRGB(nn.Module):
    def __init__(self, i, style_dim):
        super().__init__()
        self.conv = ModulatedConv2d(i, 3, 1, style_dim, demod=False)
        self.bias = nn.Parameter(torch.zeros(1, 3, 1, 1))

    def forward(self, x, w, skip=None):
        y = self.conv(x, w) + self.bias
        if skip is not None:
            y = y + F.interpolate(skip, scale_factor=2, mode="bilinear", align_corners=False)
        return y


CH = {4: 512, 8: 512, 16: 512, 32: 512, 64: 256, 128: 128, 256: 64}


class Generator(nn.Module):
    def __init__(self, size, z=512, n_mlp=8):
        super().__init__()
        layers = []
        for _ in range(n_mlp):
            layers += [EqualLinear(z, z, lr_mul=0.01), nn.LeakyReLU(0.2)]
        self.mapping = nn.Sequential(*layers)
        self.const = nn.Parameter(torch.randn(1, CH[4], 4, 4))
        self.conv1 = StyledConv(CH[4], CH[4], z)
        self.rgb1 = ToRGB(CH[4], z)
        self.convs, self.rgbs = nn.ModuleList(), nn.ModuleList()
        r, c = 8, CH[4]
        while r <= size:
            o = CH[r]
            self.convs.append(StyledConv(c, o, z, up=True))
            self.convs.append(StyledConv(o, o, z))
            self.rgbs.append(ToRGB(o, z))
            c, r = o, r * 2
        self.z = z

    def forward(self, z, return_w=False):
        z = z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8)
        w = self.mapping(z)
        x = self.const.expand(z.size(0), -1, -1, -1)
        x = self.conv1(x, w)
        img = self.rgb1(x, w)
        for i, rgb in enumerate(self.rgbs):
            x = self.convs[2 * i](x, w)
            x = self.convs[2 * i + 1](x, w)
            img = rgb(x, w, img)
        return (img, w) if return_w else img


class DBlock(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.c1 = EqualConv2d(i, i, 3, padding=1)
        self.c2 = EqualConv2d(i, o, 3, padding=1)
        self.skip = EqualConv2d(i, o, 1, bias=False)

    def forward(self, x):
        y = F.leaky_relu(self.c1(x), 0.2)
        y = F.leaky_relu(self.c2(y), 0.2)
        y = F.avg_pool2d(y, 2)
        return (y + self.skip(F.avg_pool2d(x, 2))) / math.sqrt(2)


class Discriminator(nn.Module):
    def __init__(self, size, group=4):
        super().__init__()
        self.rgb = EqualConv2d(3, CH[size], 1)
        blocks, r = [], size
        while r > 4:
            blocks.append(DBlock(CH[r], CH[r // 2]))
            r //= 2
        self.blocks = nn.Sequential(*blocks)
        self.last = EqualConv2d(CH[4] + 1, CH[4], 3, padding=1)
        self.fc = nn.Sequential(EqualLinear(CH[4] * 16, CH[4]), nn.LeakyReLU(0.2), EqualLinear(CH[4], 1))
        self.group = group

    def forward(self, x):
        x = self.blocks(F.leaky_relu(self.rgb(x), 0.2))
        b, c, h, w = x.shape
        g = min(b, self.group)
        sd = x.view(g, -1, 1, c, h, w)
        sd = torch.sqrt(sd.var(0, unbiased=False) + 1e-8).mean([2, 3, 4], keepdim=True).squeeze(2)
        sd = sd.repeat(g, 1, h, w)
        x = F.leaky_relu(self.last(torch.cat([x, sd], 1)), 0.2)
        return self.fc(x.flatten(1))
