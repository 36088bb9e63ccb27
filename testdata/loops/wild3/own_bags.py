"""Bags of embeddings, whose sizes a function of the script reads from the command line."""
import argparse
import torch, torch.nn as nn


def numbers(text):
    return [int(v) for v in text.split("-")]


p = argparse.ArgumentParser()
p.add_argument("--tables", type=numbers, default="20000-5000-300")
p.add_argument("--batch-size", type=int, default=2048)
args = p.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(n, 64, mode="sum") for n in args.tables])
        self.mean = nn.EmbeddingBag(1000, 32)
        self.top = nn.Sequential(nn.Linear(64 * len(args.tables) + 32, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())

    def forward(self, offsets, ids, words):
        out = [bag(ids[k], offsets) for k, bag in enumerate(self.bags)]
        return self.top(torch.cat(out + [self.mean(words)], 1))


net = Net().cuda()
opt = torch.optim.Adagrad(net.parameters(), lr=0.1)
for step in range(5):
    n = args.batch_size
    offsets = torch.arange(0, n * 4, 4).cuda()
    ids = torch.stack([torch.randint(0, size, (n * 4,)) for size in args.tables]).cuda()
    words = torch.randint(0, 1000, (n, 10), device="cuda")
    y = torch.randint(0, 2, (n, 1)).float().cuda()
    loss = nn.functional.binary_cross_entropy(net(offsets, ids, words), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
