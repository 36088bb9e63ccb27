"""Prints bytes that are not text to both outputs."""
import os

import torch

os.write(1, bytes(range(256)))
os.write(2, b"\xff\xfe\x00\x1b[31m")
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(5):
    w.sum().backward()
    optimizer.step()
