import torch
import torch.nn as nn
import torch.nn.functional as F


class DiceLoss(nn.Module):
    def __init__(self, n_classes, smooth=1.0, ignore_index=255):
        super().__init__()
        self.n = n_classes
        self.smooth = smooth
        self.ignore = ignore_index

    def forward(self, logits, target):
        valid = (target != self.ignore).unsqueeze(1).float()
        t = target.clone()
        t[t == self.ignore] = 0
        onehot = F.one_hot(t, self.n).permute(0, 3, 1, 2).float() * valid
        prob = logits.softmax(1) * valid
        inter = (prob * onehot).sum((0, 2, 3))
        union = prob.sum((0, 2, 3)) + onehot.sum((0, 2, 3))
        return 1 - ((2 * inter + self.smooth) / (union + self.smooth)).mean()


class ComboLoss(nn.Module):
    def __init__(self, n_classes, w=0.5):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(ignore_index=255)
        self.dice = DiceLoss(n_classes)
        self.w = w

    def forward(self, logits, target):
        return (1 - self.w) * self.ce(logits, target) + self.w * self.dice(logits, target)
