import torch
from torch.utils.data import Dataset


class CityLike(Dataset):
    def __init__(self, length, size=(512, 512), n_classes=19):
        self.length = length
        self.size = size
        self.n_classes = n_classes

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        h, w = self.size
        img = torch.rand(3, h, w)
        coarse = torch.randint(0, self.n_classes, (1, 1, h // 32, w // 32)).float()
        mask = torch.nn.functional.interpolate(coarse, size=(h, w), mode="nearest")[0, 0].long()
        mask[:8] = 255
        return img, mask
