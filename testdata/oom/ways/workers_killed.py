import os
import signal
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        if i == 700:
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel's out-of-memory killer does
        return torch.randn(512)


for i, x in enumerate(DataLoader(Rows(), batch_size=64, num_workers=2)):
    print("batch", i, x.cuda().mean().item())
