"""Settings from the command line by name, a module that hooks watch, and a GAN's two optimizers with a lazy penalty."""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
width = 256
penalty_every = 4
steps = 9
for arg in sys.argv[1:]:
    key, val = arg.lstrip("-").split("=")
    assert key in globals(), key
    globals()[key] = type(globals()[key])(val)

generator = nn.Sequential(nn.Linear(64, width), nn.ReLU(inplace=True), nn.Linear(width, 1024)).cuda()
critic = nn.Sequential(nn.Linear(1024, width), nn.LeakyReLU(0.2), nn.Linear(width, 1)).cuda()
scale = torch.tensor(np.log(0.1), dtype=torch.float32, device="cuda", requires_grad=True)
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-4)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-4)
s_opt = torch.optim.Adam([scale], lr=1e-4)
kept = {}
generator[0].register_forward_hook(lambda m, i, o, k="first": kept.__setitem__(k, o.detach().clone()))

for step in range(steps):
    real = torch.randn(batch_size, 1024, device="cuda")
    fake = generator(torch.randn(batch_size, 64, device="cuda"))
    c_loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
    if step % penalty_every == 0:
        wide = critic(torch.cat([real, real, fake.detach(), fake.detach()]))
        c_loss = c_loss + wide.pow(2).mean() * scale.exp()
    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()
    g_loss = F.softplus(-critic(fake)).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    s_opt.step()
