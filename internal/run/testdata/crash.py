"""Fails in its second step."""
import torch

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(5):
    if i == 1:
        raise ValueError("the data is bad")
    w.sum().backward()
    optimizer.step()
