"""Premise/hypothesis classification with a pooled head, a collate function and a warm-up schedule."""
import argparse
import math
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModel


class Pairs(Dataset):
    def __init__(self, vocab, length, n):
        self.vocab, self.length, self.n = vocab, length, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = random.Random(i)
        ids = [rng.randrange(5, self.vocab) for _ in range(self.length)]
        return {"input_ids": ids, "attention_mask": [1] * self.length, "label": i % 3}


def collate(items):
    batch = {k: torch.tensor([it[k] for it in items]) for k in ("input_ids", "attention_mask")}
    batch["labels"] = torch.tensor([it["label"] for it in items])
    return batch


class NLI(nn.Module):
    def __init__(self, config, classes=3, p=0.1):
        super().__init__()
        self.backbone = AutoModel.from_config(config)
        self.dropout = nn.Dropout(p)
        self.proj = nn.Sequential(nn.Linear(config.hidden_size, config.hidden_size), nn.Tanh(), nn.Dropout(p), nn.Linear(config.hidden_size, classes))

    def forward(self, input_ids, attention_mask, labels=None):
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-6)
        logits = self.proj(self.dropout(mean))
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=0.1) if labels is not None else None
        return loss, logits


def lr_at(step, warmup=4, total=20):
    if step < warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--seq-len", type=int, default=128)
    args = ap.parse_args()
    config = AutoConfig.from_pretrained(args.config)
    loader = DataLoader(Pairs(config.vocab_size, args.seq_len, args.batch_size * 5), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    model = NLI(config).cuda()
    decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
    other = [p for n, p in model.named_parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": other, "weight_decay": 0.0}], lr=2e-5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_at)
    model.train()
    correct = seen = 0
    for step, batch in enumerate(loader):
        batch = {k: v.cuda(non_blocking=True) for k, v in batch.items()}
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss, logits = model(**batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        correct += (logits.argmax(-1) == batch["labels"]).sum()
        seen += len(logits)
    print("accuracy", correct.item() / seen)


if __name__ == "__main__":
    main()
