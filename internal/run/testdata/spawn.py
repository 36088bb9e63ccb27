"""Trains in two spawned processes, and loads data in forked ones."""
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader


def train(rank):
    w = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for x in DataLoader(torch.randn(64, 3), batch_size=4, num_workers=1):
        (w * x).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    mp.spawn(train, nprocs=2)
    print("parent goes on")
