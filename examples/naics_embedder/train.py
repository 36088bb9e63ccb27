"""Contrastive embedding of industry codes: four LoRA encoders, experts, one space.

    python train.py --config conf/config.yaml
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.checkpoint import checkpoint


class LoRALinear(nn.Module):
    """A frozen layer with a trainable low-rank correction."""

    def __init__(self, size, r, alpha=16):
        super().__init__()
        self.base = nn.Linear(size, size)
        self.base.requires_grad_(False)
        self.A = nn.Linear(size, r, bias=False)
        self.B = nn.Linear(r, size, bias=False)
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.B(self.A(x)) * self.scale


class Layer(nn.Module):
    """A BERT layer; queries and values are adapted, the rest is frozen."""

    def __init__(self, hidden, heads, r):
        super().__init__()
        self.heads = heads
        self.query, self.value = LoRALinear(hidden, r), LoRALinear(hidden, r)
        self.key, self.out = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        for m in (self.key, self.out, self.up, self.down, self.norm1, self.norm2):
            m.requires_grad_(False)

    def forward(self, x, mask):
        B, S, H = x.shape

        def split(t):
            return t.view(B, S, self.heads, H // self.heads).transpose(1, 2)
        a = F.scaled_dot_product_attention(split(self.query(x)), split(self.key(x)), split(self.value(x)), attn_mask=mask)
        x = self.norm1(x + F.dropout(self.out(a.transpose(1, 2).reshape(B, S, H)), 0.1, self.training))
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), 0.1, self.training))


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.words = nn.Embedding(c["vocab"], c["hidden"])
        self.words.requires_grad_(False)
        self.layers = nn.ModuleList([Layer(c["hidden"], c["heads"], c["lora_r"]) for _ in range(c["layers"])])
        self.saving = c["gradient_checkpointing"]

    def forward(self, ids, mask):
        x = self.words(ids).requires_grad_()
        bias = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = checkpoint(layer, x, bias, use_reentrant=False) if self.saving else layer(x, bias)
        return x.mean(1)


class Experts(nn.Module):
    def __init__(self, dim, hidden=1024, experts=4, k=2):
        super().__init__()
        self.gate, self.k = nn.Linear(dim, experts), k
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, dim))
                                      for _ in range(experts)])

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.k, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            share = ((chosen == e) * weights).sum(-1, keepdim=True)
            out = out + share.to(x.dtype) * expert(x)
        return out


class Embedder(nn.Module):
    def __init__(self, c):
        super().__init__()
        wide = c["channels"] * c["hidden"]
        self.encoders = nn.ModuleList([Encoder(c) for _ in range(c["channels"])])
        self.moe, self.proj = Experts(wide), nn.Linear(wide, c["hidden"])

    def forward(self, channels, mask):
        return self.proj(self.moe(torch.cat([e(ids, mask) for e, ids in zip(self.encoders, channels)], -1)))


def contrast(e, B, P, N, temperature=0.07):
    e = F.normalize(e.float(), dim=-1)
    anchor, pos, neg = e[:B, None], e[B:B * (1 + P)].view(B, P, -1), e[B * (1 + P):].view(B, N, -1)
    pos, neg = (anchor * pos).sum(-1) / temperature, (anchor * neg).sum(-1) / temperature
    return (torch.logsumexp(torch.cat([pos, neg], 1), 1, keepdim=True) - pos).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="conf/config.yaml")
    p.add_argument("--max-steps", type=int)
    a = p.parse_args()
    with open(a.config) as f:
        conf = yaml.safe_load(f)
    data, train = conf["data_loader"], conf["training"]
    B, P, N = data["batch_size"], data["n_positives"], data["n_negatives"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = Embedder(conf["model"]).to(device)
    optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=train["learning_rate"])
    amp = device == "cuda" and train["precision"] == "16-mixed"
    scaler = torch.cuda.amp.GradScaler(enabled=amp)
    accumulate, ends = train["trainer"]["accumulate_grad_batches"], []
    for step in range(a.max_steps or train["trainer"]["max_steps"]):
        for _ in range(accumulate):
            n = B * (1 + P + N)
            channels = [torch.randint(0, conf["model"]["vocab"], (n, data["max_length"])).to(device) for _ in range(conf["model"]["channels"])]
            mask = torch.ones(n, data["max_length"], dtype=torch.long, device=device)
            with torch.autocast(device, dtype=torch.float16, enabled=amp):
                loss = contrast(model(channels, mask), B, P, N)
            scaler.scale(loss / accumulate).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print("step %d loss %.4f" % (step + 1, loss.item()), flush=True)
        ends.append(time.time())
    times = sorted(b - a for a, b in zip(ends[1:], ends[2:])) or [0]
    peak = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if torch.cuda.is_available() else (0, 0)
    print("peak_allocated=%d peak_reserved=%d ms_per_step=%.3f" % (peak + (times[len(times) // 2] * 1e3,)))


if __name__ == "__main__":
    main()
