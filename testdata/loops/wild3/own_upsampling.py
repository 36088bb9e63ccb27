"""Interpolation under autocast."""
import torch, torch.nn as nn, torch.nn.functional as F
net = nn.Conv2d(3, 16, 3, padding=1).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 3, 32, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = net(x)
        a = F.interpolate(y, scale_factor=2)
        b = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        c = F.interpolate(y, scale_factor=2, mode="bicubic", align_corners=False)
        d = F.interpolate(y, size=(16, 16), mode="area")
        e = nn.Upsample(scale_factor=4)(y)
        f = F.interpolate(y, size=(8, 8), mode="nearest-exact")
    opt.zero_grad()
    (a.mean() + b.mean() + c.mean() + d.mean() + e.mean() + f.mean()).backward()
    opt.step()
