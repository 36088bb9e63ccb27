import torch
import torch.nn as nn
import torch.nn.functional as F


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0, ignore_index=255):
        super().__init__()
        self.smooth = smooth
        self.ignore_index = ignore_index

    def forward(self, logits, target):
        n_cls = logits.shape[1]
        valid = (target != self.ignore_index).unsqueeze(1)
        t = target.clone()
        t[t == self.ignore_index] = 0
        onehot = F.one_hot(t, n_cls).permute(0, 3, 1, 2).float() * valid
        prob = logits.softmax(1) * valid
        inter = (prob * onehot).sum((0, 2, 3))
        card = (prob + onehot).sum((0, 2, 3))
        return 1 - ((2 * inter + self.smooth) / (card + self.smooth)).mean()


class ComboLoss(nn.Module):
    def __init__(self, w_ce=0.5, w_dice=0.5, aux=0.4):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(ignore_index=255)
        self.dice = DiceLoss()
        self.w = (w_ce, w_dice)
        self.aux = aux

    def one(self, o, y):
        return self.w[0] * self.ce(o, y) + self.w[1] * self.dice(o, y)

    def forward(self, out, y):
        loss = self.one(out["out"], y)
        if "aux" in out:
            loss = loss + self.aux * self.one(out["aux"], y)
        return loss
