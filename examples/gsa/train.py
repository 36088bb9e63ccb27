"""A decoder that attends only to keys chosen by a lightweight indexer.

    torchrun --nproc_per_node=4 train.py --config configs/pretrain.yaml
"""
import argparse
import contextlib
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Norm(nn.Module):
    """RMSNorm, which torch has only since 2.4."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight


class SparseAttention(nn.Module):
    def __init__(self, d, heads, k):
        super().__init__()
        self.heads, self.k = heads, k
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.index = nn.Linear(d, 2 * 64, bias=False)
        self.gate = nn.Linear(d, d, bias=False)
        self.out = nn.Linear(d, d, bias=False)

    def forward(self, x):
        B, S, D = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        iq, ik = self.index(x).chunk(2, -1)
        causal = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()
        score = (iq @ ik.transpose(1, 2)).masked_fill(~causal, float("-inf"))  # (B, S, S)
        keep = score >= score.topk(min(self.k, S), -1).values[..., -1:]
        bias = torch.zeros(B, 1, S, S, device=x.device, dtype=q.dtype).masked_fill(~(keep & causal)[:, None], float("-inf"))

        def split(t):
            return t.view(B, S, self.heads, D // self.heads).transpose(1, 2)
        a = F.scaled_dot_product_attention(split(q), split(k), split(v), attn_mask=bias)
        return self.out(a.transpose(1, 2).reshape(B, S, D) * torch.sigmoid(self.gate(x)))


class Block(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        d, ffn = c["d_model"], c["d_ffn"]
        self.norm1, self.norm2 = Norm(d), Norm(d)
        self.attention = SparseAttention(d, c["n_heads"], k)
        self.up, self.down = nn.Linear(d, 2 * ffn, bias=False), nn.Linear(ffn, d, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        gate, up = self.up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class GSA(nn.Module):
    def __init__(self, c, k, saving):
        super().__init__()
        self.emb = nn.Embedding(c["vocab_size"], c["d_model"])
        self.blocks = nn.ModuleList([Block(c, k) for _ in range(c["n_layers"])])
        self.norm, self.head = Norm(c["d_model"]), nn.Linear(c["d_model"], c["vocab_size"], bias=False)
        self.saving = saving

    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.saving else b(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)).float(), ids[:, 1:].reshape(-1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="configs/pretrain.yaml")
    p.add_argument("--max-steps", type=int)
    a = p.parse_args()
    with open(a.config) as f:
        conf = yaml.safe_load(f)
    world, local = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.manual_seed(0)
    model = GSA(conf["model"], conf["gsa"]["k_base"], conf["gradient_checkpointing"]).to(device)
    if world > 1:
        model = DistributedDataParallel(model, device_ids=[local] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=conf["learning_rate"])
    accumulate, ends = conf["gradient_accumulation_steps"], []
    for step in range(a.max_steps or conf["max_steps"]):
        for i in range(accumulate):
            ids = torch.randint(0, conf["model"]["vocab_size"], (conf["micro_batch_size"], conf["max_seq_len"])).to(device)
            last = i == accumulate - 1
            with model.no_sync() if world > 1 and not last else contextlib.nullcontext():
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=conf["precision"] == "bf16"):
                    loss = model(ids)
                (loss / accumulate).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        if local == 0:
            print("step %d loss %.4f" % (step + 1, value), flush=True)
        ends.append(time.time())
    times = sorted(b - a for a, b in zip(ends[1:], ends[2:])) or [0]
    peak = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if torch.cuda.is_available() else (0, 0)
    if local == 0:
        print("peak_allocated=%d peak_reserved=%d ms_per_step=%.3f" % (peak + (times[len(times) // 2] * 1e3,)))
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
