import resource
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self):
        self.cache = []

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        self.cache.append(torch.randn(3, 1024, 1024))
        return self.cache[-1].mean()


def limited(worker):
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))


for i, x in enumerate(DataLoader(Images(), batch_size=32, num_workers=2, worker_init_fn=limited)):
    if i % 5 == 0:
        print("batch", i, x.cuda().mean().item())
