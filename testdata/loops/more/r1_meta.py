"""One step of MAML-like meta-learning: the inner step's gradients keep their graph."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=1024)
p.add_argument("--width", type=int, default=2048)
args = p.parse_args()
w1 = nn.Parameter(torch.randn(args.width, 256, device="cuda") * 0.05)
w2 = nn.Parameter(torch.randn(10, args.width, device="cuda") * 0.05)
opt = torch.optim.SGD([w1, w2], lr=0.1)


def net(x, a, b):
    return F.linear(F.relu(F.linear(x, a)), b)


for step in range(6):
    x = torch.randn(args.batch_size, 256, device="cuda")
    y = torch.randint(10, (args.batch_size,), device="cuda")
    inner = F.cross_entropy(net(x, w1, w2), y)
    g1, g2 = torch.autograd.grad(inner, [w1, w2], create_graph=True)
    outer = F.cross_entropy(net(x, w1 - 0.01 * g1, w2 - 0.01 * g2), y)
    opt.zero_grad()
    outer.backward()
    opt.step()
    print(step, outer.item())
