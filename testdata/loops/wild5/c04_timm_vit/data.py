import torch
from torch.utils.data import Dataset


class PetsLike(Dataset):
    def __init__(self, size, img_size, num_classes, train=True):
        self.size = size
        self.img_size = img_size
        self.num_classes = num_classes
        self.train = train

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i + (0 if self.train else 10 ** 6))
        small = torch.rand(3, 14, 14, generator=g)
        img = torch.nn.functional.interpolate(small[None], size=self.img_size, mode="nearest")[0]
        if self.train and torch.rand(()) < 0.5:
            img = img.flip(-1)
        return (img - 0.5) / 0.5, i % self.num_classes
