"""Shared by train_with_helpers_lm.py and train_with_helpers_mlm.py."""
import argparse
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


def base_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--lr", type=float, default=1e-4)
    return parser


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class SyntheticTokens(Dataset):
    def __init__(self, vocab_size, seq_len, n, transform=None):
        self.data = np.random.randint(0, vocab_size, size=(n, seq_len))
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        sample = {"input_ids": torch.from_numpy(self.data[i]).long()}
        return self.transform(sample) if self.transform else sample


def build_loader(vocab_size, seq_len, batch_size, batches, transform=None, shuffle=True):
    dataset = SyntheticTokens(vocab_size, seq_len, batch_size * batches, transform)
    return DataLoader(dataset, batch_size=batch_size, shuffle=shuffle, pin_memory=True)


def build_optimizer(model, lr, weight_decay=0.01):
    decay, no_decay = [], []
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        if param.ndim <= 1 or name.endswith(".bias"):
            no_decay.append(param)
        else:
            decay.append(param)
    groups = [{"params": no_decay, "weight_decay": 0.0}, {"params": decay, "weight_decay": weight_decay}]
    return torch.optim.AdamW(groups, lr=lr)


def to_device(batch, device):
    if torch.is_tensor(batch):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {k: to_device(v, device) for k, v in batch.items()}
    return type(batch)(to_device(v, device) for v in batch)


class SmoothedValue:
    def __init__(self, window=20):
        self.values, self.window = [], window

    def update(self, value):
        self.values = (self.values + [value])[-self.window:]

    @property
    def mean(self):
        return sum(self.values) / max(1, len(self.values))


def train_step(model, batch, optimizer, dtype=torch.bfloat16, max_norm=None):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
        out = model(**batch)
    out.loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return out.loss.detach()
