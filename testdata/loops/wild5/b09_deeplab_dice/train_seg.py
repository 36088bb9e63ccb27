import argparse

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.segmentation import deeplabv3_resnet50

from engine.losses import ComboLoss
from engine.trainer import SegTrainer


class Shapes(Dataset):
    """random rectangles on noise"""

    def __init__(self, n, size, n_cls):
        self.n, self.size, self.n_cls = n, size, n_cls

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 + i)
        img = torch.rand(3, self.size, self.size, generator=g)
        mask = torch.zeros(self.size, self.size, dtype=torch.long)
        for _ in range(4):
            y, x = torch.randint(0, self.size // 2, (2,), generator=g).tolist()
            c = int(torch.randint(1, self.n_cls, (1,), generator=g))
            mask[y:y + self.size // 4, x:x + self.size // 3] = c
            img[:, y:y + self.size // 4, x:x + self.size // 3] += c / self.n_cls
        mask[:2] = 255
        return img, mask


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--crop", type=int, default=480)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--classes", type=int, default=21)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--iters", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--aux", action="store_true")
    return p.parse_args()


def main():
    a = get_args()
    torch.manual_seed(3)
    dev = torch.device("cuda")
    model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=a.classes, aux_loss=a.aux).to(dev)
    groups = [{"params": [p for p in model.backbone.parameters() if p.requires_grad]},
              {"params": [p for p in model.classifier.parameters() if p.requires_grad]}]
    if a.aux:
        groups.append({"params": list(model.aux_classifier.parameters()), "lr": a.lr * 10})
    opt = torch.optim.SGD(groups, lr=a.lr, momentum=0.9, weight_decay=1e-4)
    total = a.epochs * a.iters
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=total, power=0.9)
    tl = DataLoader(Shapes(a.batch * a.iters, a.crop, a.classes), a.batch, shuffle=True, drop_last=True)
    vl = DataLoader(Shapes(6, a.crop + 40, a.classes), 1)
    SegTrainer(model, ComboLoss(), opt, sched, dev, a.classes).fit(tl, vl, a.epochs)


if __name__ == "__main__":
    main()
