"""A decoder of one's own: RMSNorm, rotary positions, SwiGLU, tied head.  No transformers here."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    vocab: int = 32768
    dim: int = 768
    heads: int = 12
    layers: int = 12
    ctx: int = 512


def rope_cache(cfg):
    half = cfg.dim // cfg.heads // 2
    freqs = 1.0 / (10000 ** (torch.arange(half).float() / half))
    ang = torch.outer(torch.arange(cfg.ctx).float(), freqs)
    return ang.cos()[None, None], ang.sin()[None, None]


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(cfg.dim), nn.RMSNorm(cfg.dim)
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim, bias=False)
        self.proj = nn.Linear(cfg.dim, cfg.dim, bias=False)
        hidden = int(cfg.dim * 8 / 3) // 64 * 64
        self.gate, self.up = nn.Linear(cfg.dim, hidden, bias=False), nn.Linear(cfg.dim, hidden, bias=False)
        self.down = nn.Linear(hidden, cfg.dim, bias=False)
        self.heads = cfg.heads

    def forward(self, x, cos, sin):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.norm = nn.RMSNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)
        self.head.weight = self.tok.weight
        nn.init.normal_(self.tok.weight, std=0.02)
        cos, sin = rope_cache(cfg)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx)
        for block in self.blocks:
            x = block(x, self.cos[:, :, : idx.size(1)], self.sin[:, :, : idx.size(1)])
        logits = self.head(self.norm(x))
        loss = None if targets is None else F.cross_entropy(logits.float().view(-1, logits.size(-1)), targets.reshape(-1))
        return logits, loss


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--ctx", type=int, default=512)
    ap.add_argument("--layers", type=int, default=12)
    ap.add_argument("--dim", type=int, default=768)
    ap.add_argument("--accum", type=int, default=2)
    a = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cfg = GPTConfig(dim=a.dim, layers=a.layers, ctx=a.ctx)
    model = GPT(cfg).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True)
    for it in range(5):
        acc_loss = 0.0
        for _ in range(a.accum):
            data = torch.randint(cfg.vocab, (a.batch, a.ctx + 1), device=device)
            with torch.autocast(device, dtype=torch.bfloat16):
                _, loss = model(data[:, :-1], data[:, 1:])
            (loss / a.accum).backward()
            acc_loss += loss.item() / a.accum
        opt.step()
        opt.zero_grad(set_to_none=True)
        print(it, acc_loss)
