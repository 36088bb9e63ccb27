"""Volumes: convolutions, pooling and interpolation."""
import torch, torch.nn as nn, torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.InstanceNorm3d(16, affine=True), nn.LeakyReLU(0.01, inplace=True), nn.MaxPool3d(2))
        self.b = nn.Sequential(nn.Conv3d(16, 32, (3, 3, 3), padding="same"), nn.GroupNorm(8, 32), nn.SiLU(), nn.AvgPool3d((1, 2, 2)))
        self.up = nn.ConvTranspose3d(32, 16, 2, stride=2)
        self.c = nn.Conv3d(16, 16, 3, padding=1, groups=2)
        self.dw = nn.Conv3d(16, 16, 3, padding=1, groups=16, bias=False)
        self.head = nn.Conv3d(16, 4, 1)
        self.line = nn.Conv1d(32, 32, 3, padding=1)
        self.cls = nn.Linear(32 * 8 + 32 * 27, 10)

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        u = self.up(b)
        u = F.interpolate(u, size=x.shape[2:], mode="trilinear", align_corners=False)
        y = self.head(self.dw(self.c(u)))
        p = F.adaptive_avg_pool3d(b, 2).flatten(1)
        q = F.adaptive_max_pool3d(b, 3).flatten(1)
        g = F.adaptive_avg_pool3d(b, 1).flatten(1)
        line = self.line(F.interpolate(b.mean((3, 4)), scale_factor=2, mode="linear"))
        return y, self.cls(torch.cat([p, q], 1)), g, line

net = Net().cuda()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(4):
    x = torch.randn(2, 1, 32, 48, 48, device="cuda")
    t = torch.randint(0, 4, (2, 32, 48, 48), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=step > 1):
        y, c, g, line = net(x)
    loss = F.cross_entropy(y.float(), t) + c.float().mean() + g.mean() + line.float().pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
