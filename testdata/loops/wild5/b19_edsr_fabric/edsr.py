import torch
import torch.nn as nn


class MeanShift(nn.Conv2d):
    def __init__(self, rgb_range, mean=(0.4488, 0.4371, 0.4040), std=(1.0, 1.0, 1.0), sign=-1):
        super().__init__(3, 3, kernel_size=1)
        std = torch.Tensor(std)
        self.weight.data = torch.eye(3).view(3, 3, 1, 1) / std.view(3, 1, 1, 1)
        self.bias.data = sign * rgb_range * torch.Tensor(mean) / std
        for p in self.parameters():
            p.requires_grad = False


def conv(i, o, k):
    return nn.Conv2d(i, o, k, padding=k // 2)


class ResBlock(nn.Module):
    def __init__(self, n, res_scale):
        super().__init__()
        self.body = nn.Sequential(conv(n, n, 3), nn.ReLU(True), conv(n, n, 3))
        self.res_scale = res_scale

    def forward(self, x):
        return self.body(x).mul(self.res_scale) + x


class EDSR(nn.Module):
    def __init__(self, scale=4, n_blocks=32, n_feats=256, res_scale=0.1, rgb_range=255):
        super().__init__()
        self.sub_mean = MeanShift(rgb_range)
        self.add_mean = MeanShift(rgb_range, sign=1)
        self.head = conv(3, n_feats, 3)
        self.body = nn.Sequential(*[ResBlock(n_feats, res_scale) for _ in range(n_blocks)], conv(n_feats, n_feats, 3))
        up = []
        for _ in range({2: 1, 4: 2}[scale]):
            up += [conv(n_feats, 4 * n_feats, 3), nn.PixelShuffle(2)]
        self.tail = nn.Sequential(*up, conv(n_feats, 3, 3))

    def forward(self, x):
        x = self.head(self.sub_mean(x))
        x = self.tail(self.body(x) + x)
        return self.add_mean(x)
