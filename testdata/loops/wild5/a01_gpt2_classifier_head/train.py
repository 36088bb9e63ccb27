"""Fine-tune a GPT-2 style backbone for document classification with a custom pooling head."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2Model, get_cosine_schedule_with_warmup


class DocDataset(Dataset):
    def __init__(self, n, seq_len, vocab, n_classes, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, vocab, (n, seq_len), generator=g)
        self.lengths = torch.randint(seq_len // 2, seq_len + 1, (n,), generator=g)
        self.y = torch.randint(0, n_classes, (n,), generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        mask = (torch.arange(self.ids.size(1)) < self.lengths[i]).long()
        return {"input_ids": self.ids[i], "attention_mask": mask, "labels": self.y[i]}


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, dim // 2), nn.Tanh(), nn.Linear(dim // 2, 1))

    def forward(self, h, mask):
        s = self.score(h).squeeze(-1)
        s = s.masked_fill(mask == 0, torch.finfo(s.dtype).min)
        w = s.softmax(-1)
        return torch.einsum("bt,btd->bd", w, h)


class GPT2Classifier(nn.Module):
    def __init__(self, cfg, n_classes, freeze_layers=0):
        super().__init__()
        self.backbone = GPT2Model(cfg)
        self.pool = AttentionPool(cfg.n_embd)
        self.head = nn.Sequential(nn.LayerNorm(cfg.n_embd), nn.Dropout(0.1), nn.Linear(cfg.n_embd, n_classes))
        for p in self.backbone.wte.parameters():
            p.requires_grad = False
        for p in self.backbone.wpe.parameters():
            p.requires_grad = False
        for blk in self.backbone.h[:freeze_layers]:
            for p in blk.parameters():
                p.requires_grad = False

    def forward(self, input_ids, attention_mask):
        out = self.backbone(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)
        return self.head(self.pool(out.last_hidden_state, attention_mask))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct, total, loss_sum = 0, 0, 0.0
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        y = batch.pop("labels")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(**batch)
        loss_sum += F.cross_entropy(logits.float(), y, reduction="sum").item()
        correct += (logits.argmax(-1) == y).sum().item()
        total += len(y)
    model.train()
    return loss_sum / total, correct / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch_size", type=int, default=16)
    ap.add_argument("--eval_batch_size", type=int, default=32)
    ap.add_argument("--seq_len", type=int, default=768)
    ap.add_argument("--steps", type=int, default=10)
    ap.add_argument("--lr", type=float, default=3e-5)
    ap.add_argument("--freeze_layers", type=int, default=3)
    ap.add_argument("--n_classes", type=int, default=20)
    args = ap.parse_args()

    torch.manual_seed(42)
    device = torch.device("cuda")
    cfg = GPT2Config(n_embd=768, n_layer=12, n_head=12, n_positions=1024)
    model = GPT2Classifier(cfg, args.n_classes, args.freeze_layers).to(device)

    train_ds = DocDataset(args.batch_size * args.steps, args.seq_len, cfg.vocab_size, args.n_classes)
    val_ds = DocDataset(72, args.seq_len, cfg.vocab_size, args.n_classes, seed=1)
    train_dl = DataLoader(train_ds, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, batch_size=args.eval_batch_size)

    decay, no_decay = [], []
    for n, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (no_decay if p.ndim < 2 else decay).append(p)
    opt = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=args.lr
    )
    sched = get_cosine_schedule_with_warmup(opt, 2, args.steps)

    for step, batch in enumerate(train_dl):
        batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
        labels = batch.pop("labels")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(**batch)
            loss = F.cross_entropy(logits, labels)
        loss.backward()
        gn = nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        print(f"step {step} loss {loss.item():.4f} ppl {math.exp(min(20, loss.item())):.2f} gnorm {gn:.2f}")
    vl, va = evaluate(model, val_dl, device)
    print(f"val loss {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    main()
