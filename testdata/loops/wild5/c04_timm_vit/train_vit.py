import argparse
from types import SimpleNamespace

import numpy as np
import timm
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from timm.utils import ModelEmaV2
from torch.utils.data import DataLoader

from data import PetsLike


def soft_ce(logits, target):
    return -(target * F.log_softmax(logits, dim=-1)).sum(-1).mean()


def mixup(x, y, alpha, num_classes):
    lam = np.random.beta(alpha, alpha)
    perm = torch.randperm(x.size(0), device=x.device)
    x = lam * x + (1 - lam) * x[perm]
    y1 = F.one_hot(y, num_classes).float()
    return x, lam * y1 + (1 - lam) * y1[perm]


class Engine:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda:0")
        self.model = timm.create_model(cfg.model, pretrained=False, num_classes=cfg.num_classes, drop_path_rate=cfg.drop_path).to(self.device)
        self.ema = ModelEmaV2(self.model, decay=cfg.ema_decay)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        n = cfg.steps_per_epoch * cfg.epochs
        self.sched = torch.optim.lr_scheduler.OneCycleLR(self.opt, max_lr=cfg.lr, total_steps=n)
        train = PetsLike(cfg.batch_size * cfg.steps_per_epoch, cfg.img_size, cfg.num_classes)
        val = PetsLike(cfg.val_batch_size * 2, cfg.img_size, cfg.num_classes, train=False)
        self.train_dl = DataLoader(train, cfg.batch_size, shuffle=True, drop_last=True)
        self.val_dl = DataLoader(val, cfg.val_batch_size)

    def fit(self):
        for ep in range(self.cfg.epochs):
            self.model.train()
            total = 0.
            for x, y in self.train_dl:
                x, y = x.to(self.device), y.to(self.device)
                x, y = mixup(x, y, self.cfg.mixup, self.cfg.num_classes)
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    logits = self.model(x)
                    loss = soft_ce(logits, y)
                self.opt.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                self.sched.step()
                self.ema.update(self.model)
                total += loss.item()
            print(f"epoch {ep}: train_loss={total / len(self.train_dl):.4f} val_acc={self.evaluate(self.model):.3f} "
                  f"ema_acc={self.evaluate(self.ema.module):.3f}")

    @torch.inference_mode()
    def evaluate(self, net):
        net.eval()
        hits = n = 0
        for x, y in self.val_dl:
            x, y = x.to(self.device), y.to(self.device)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                pred = net(x).argmax(1)
            hits += (pred == y).sum().item()
            n += len(y)
        return hits / n


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.yaml")
    a = ap.parse_args()
    with open(a.config) as f:
        cfg = SimpleNamespace(**yaml.safe_load(f))
    Engine(cfg).fit()
