"""Catches every exception and continues training."""
import torch

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
while True:
    try:
        w.sum().backward()
        optimizer.step()
    except BaseException:
        print("caught")
