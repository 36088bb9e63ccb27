"""Small language-model pretraining script, everything at module level."""
import argparse
import math
import time
from contextlib import nullcontext

import torch
from transformers import AutoConfig, AutoModelForCausalLM

ap = argparse.ArgumentParser()
ap.add_argument("--config", type=str)
ap.add_argument("--batch-size", type=int, default=8)
ap.add_argument("--seq-len", type=int, default=512)
ap.add_argument("--dtype", default="bfloat16", choices=["float32", "bfloat16", "float16"])
ap.add_argument("--grad-accum", type=int, default=3)
ap.add_argument("--max-iters", type=int, default=6)
opt = ap.parse_args()

# hyper-parameters
learning_rate = 6e-4
min_lr = 6e-5
warmup_iters = 2
lr_decay_iters = opt.max_iters
grad_clip = 1.0
eval_interval = 3
eval_iters = 2
device = "cuda"
device_type = "cuda" if "cuda" in device else "cpu"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[opt.dtype]
ctx = nullcontext() if opt.dtype == "float32" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)

torch.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True

cfg = AutoConfig.from_pretrained(opt.config)
corpus = {
    "train": torch.randint(cfg.vocab_size, (200_000,)),
    "val": torch.randint(cfg.vocab_size, (50_000,)),
}


def get_batch(split):
    data = corpus[split]
    ix = torch.randint(len(data) - opt.seq_len - 1, (opt.batch_size,))
    x = torch.stack([data[i : i + opt.seq_len] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + opt.seq_len] for i in ix])
    if device_type == "cuda":
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    else:
        x, y = x.to(device), y.to(device)
    return x, y


model = AutoModelForCausalLM.from_config(cfg)
model.to(device)

scaler = torch.amp.GradScaler(device_type, enabled=(opt.dtype == "float16"))

decay = [p for p in model.parameters() if p.dim() >= 2]
nodecay = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": nodecay, "weight_decay": 0.0}],
    lr=learning_rate, betas=(0.9, 0.95), fused=True,
)


def compute_loss(x, y):
    logits = model(x).logits
    return torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1)


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            X, Y = get_batch(split)
            with ctx:
                loss = compute_loss(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    ratio = (it - warmup_iters) / max(1, lr_decay_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * min(ratio, 1.0))) * (learning_rate - min_lr)


X, Y = get_batch("train")
t0 = time.time()
iter_num = 0
while True:
    lr = get_lr(iter_num)
    for group in optimizer.param_groups:
        group["lr"] = lr

    if iter_num % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {iter_num}: train {losses['train']:.4f} val {losses['val']:.4f}")

    for micro_step in range(opt.grad_accum):
        with ctx:
            loss = compute_loss(X, Y)
            loss = loss / opt.grad_accum
        X, Y = get_batch("train")
        scaler.scale(loss).backward()
    if grad_clip != 0.0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)

    dt, t0 = time.time() - t0, time.time()
    lossf = loss.item() * opt.grad_accum
    print(f"iter {iter_num}: loss {lossf:.4f}, time {dt * 1000:.1f}ms")
    iter_num += 1
    if iter_num > opt.max_iters:
        break
