import argparse
from functools import partial

import torch
from torch import nn
from transformers import AutoConfig, AutoModel


class MultiTask(nn.Module):
    """One encoder; heads for sentiment, length regression and token tagging. forward returns a dict of losses."""

    def __init__(self, config, tags=17):
        super().__init__()
        self.encoder = AutoModel.from_config(config, add_pooling_layer=False)
        h = config.hidden_size
        self.heads = nn.ModuleDict({"sentiment": nn.Linear(h, 5), "length": nn.Linear(h, 1), "tags": nn.Linear(h, tags)})
        self.log_vars = nn.Parameter(torch.zeros(3))

    def forward(self, batch):
        hidden = self.encoder(batch["ids"], attention_mask=batch["mask"])[0]
        first = hidden[:, 0]
        losses = {
            "sentiment": nn.functional.cross_entropy(self.heads["sentiment"](first), batch["sentiment"]),
            "length": nn.functional.smooth_l1_loss(self.heads["length"](first).squeeze(1), batch["length"]),
            "tags": nn.functional.cross_entropy(self.heads["tags"](hidden).transpose(1, 2), batch["tags"]),
        }
        total = sum(torch.exp(-v) * l + v for v, l in zip(self.log_vars, losses.values()))
        return total, losses


def sample(vocab, b, s, tags=17):
    return {
        "ids": torch.randint(0, vocab, (b, s)), "mask": torch.ones(b, s, dtype=torch.long), "sentiment": torch.randint(0, 5, (b,)),
        "length": torch.rand(b), "tags": torch.randint(0, tags, (b, s)),
    }


def to(batch, device):
    return {k: v.to(device, non_blocking=True) for k, v in batch.items()}


def train(model, make, steps, device):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-5, fused=True)
    meters = {}
    for step in range(steps):
        batch = to(make(), device)
        total, losses = model(batch)
        total.backward()
        opt.step()
        opt.zero_grad()
        for name, value in losses.items():
            meters.setdefault(name, []).append(value.detach())
    return {k: torch.stack(v).mean().item() for k, v in meters.items()}


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("-b", "--batch", type=int, default=16)
    ap.add_argument("-s", "--seq", type=int, default=128)
    ns = ap.parse_args()
    cfg = AutoConfig.from_pretrained(ns.config)
    device = torch.device("cuda", 0)
    print(train(MultiTask(cfg).to(device), partial(sample, cfg.vocab_size, ns.batch, ns.seq), 6, device))
