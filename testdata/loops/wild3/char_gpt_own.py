"""A small GPT written out: fused qkv, SDPA, GELU MLP, weight tying, cosine schedule, estimate_loss every few steps."""
import math
import sys
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    vocab: int = 4096
    block: int = 512
    layers: int = 6
    heads: int = 8
    width: int = 512
    dropout: float = 0.0
    batch: int = 12


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.qkv = nn.Linear(c.width, 3 * c.width, bias=False)
        self.out = nn.Linear(c.width, c.width, bias=False)
        self.drop = nn.Dropout(c.dropout)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.drop(self.out(y))


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.up = nn.Linear(c.width, 4 * c.width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * c.width, c.width)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.attn, self.mlp = Attention(c), MLP(c)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok, self.pos = nn.Embedding(c.vocab, c.width), nn.Embedding(c.block, c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.ln = nn.LayerNorm(c.width)
        self.head = nn.Linear(c.width, c.vocab, bias=False)
        self.head.weight = self.tok.weight
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)

    def forward(self, idx, targets=None):
        pos = torch.arange(idx.shape[1], device=idx.device)
        x = self.tok(idx) + self.pos(pos)
        for b in self.blocks:
            x = b(x)
        logits = self.head(self.ln(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


@torch.no_grad()
def estimate_loss(model, get_batch, n=3):
    model.eval()
    losses = torch.zeros(n)
    for i in range(n):
        x, y = get_batch()
        _, loss = model(x, y)
        losses[i] = loss.item()
    model.train()
    return losses.mean()


def main():
    c = Config()
    for a in sys.argv[1:]:
        key, value = a.lstrip("-").split("=")
        setattr(c, key, type(getattr(c, key))(value))
    device = "cuda"
    data = torch.randint(0, c.vocab, (200_000,))

    def get_batch():
        ix = torch.randint(len(data) - c.block - 1, (c.batch,))
        x = torch.stack([data[i:i + c.block] for i in ix])
        y = torch.stack([data[i + 1:i + 1 + c.block] for i in ix])
        return x.to(device), y.to(device)

    model = GPT(c).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    for it in range(8):
        lr = 3e-4 * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * it / 8)))
        for g in opt.param_groups:
            g["lr"] = lr
        if it % 4 == 0:
            print(it, estimate_loss(model, get_batch))
        x, y = get_batch()
        with torch.amp.autocast(device_type="cuda", dtype=torch.bfloat16):
            logits, loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
    print(loss.item())


main()
