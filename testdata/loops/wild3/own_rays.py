"""Samples along rays on the default device, weighted by a cumulative product; a module samples images with a grid."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_device("cuda")
images = torch.rand(4, 32, 32, 3)
field = nn.Sequential(nn.Linear(3, 128), nn.ReLU(), nn.Linear(128, 4))
shift = nn.Conv2d(3, 2, 3, padding=1)
optimizer = torch.optim.SGD([*field.parameters(), *shift.parameters()], lr=1e-3)


def sample(bins, weights, n):
    pdf = weights / torch.sum(weights, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    u = torch.rand(list(cdf.shape[:-1]) + [n]).contiguous()
    at = torch.searchsorted(cdf, u, right=True)
    return torch.gather(bins, 1, torch.min(at, (bins.shape[-1] - 1) * torch.ones_like(at)))


for i in range(7):
    image = images[np.random.choice(4)]
    target = image.reshape(-1, 3)[torch.from_numpy(np.random.choice(32 * 32, size=[512], replace=False)).cuda()]
    z = torch.linspace(2.0, 6.0, 64).expand([512, 64])
    raw = field(torch.rand(512, 1, 3) * z[..., None])
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3]))
    through = torch.cumprod(torch.cat([torch.ones((512, 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * through
    rgb = torch.sum(weights[..., None] * torch.sigmoid(raw[..., :3]), -2)
    fine, _ = torch.sort(torch.cat([z, sample(z, weights.detach() + 1e-5, 32)], -1), -1)
    x = images.permute(0, 3, 1, 2)
    moved = F.grid_sample(x, shift(x).permute(0, 2, 3, 1), align_corners=False)
    loss = torch.mean((rgb - target) ** 2) + torch.mean((moved - x) ** 2) + fine.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
