import math
import time
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup


@dataclass
class Config:
    block_size: int = 512
    micro_batch: int = 8
    grad_accum: int = 4
    lr: float = 5e-5
    weight_decay: float = 0.1
    warmup: int = 2
    n_blocks: int = 192
    max_norm: float = 1.0
    log_every: int = 1


TEXT = """It was a bright cold morning and the boats were leaving the harbour one after another.
Nobody on the pier spoke. The gulls turned above the cranes, and the water was the colour of slate. """


def build_blocks(cfg):
    # poor man's tokenizer: bytes shifted around so that they cover a bit more of the vocab
    raw = torch.tensor(list(TEXT.encode("utf-8")) * 600, dtype=torch.long)
    pos = torch.arange(len(raw))
    ids = (raw * 131 + pos % 97) % 50257
    n = cfg.n_blocks * cfg.block_size
    ids = ids[:n]
    return ids.view(cfg.n_blocks, cfg.block_size)


cfg = Config()
torch.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True
device = "cuda"

blocks = build_blocks(cfg)
train_ds = TensorDataset(blocks[:-16])
eval_ds = TensorDataset(blocks[-16:])
train_dl = DataLoader(train_ds, batch_size=cfg.micro_batch, shuffle=True, drop_last=True, pin_memory=True)
eval_dl = DataLoader(eval_ds, batch_size=cfg.micro_batch)

model = GPT2LMHeadModel(GPT2Config())
model.to(device)
print(f"params: {model.num_parameters() / 1e6:.1f}M")

optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay, betas=(0.9, 0.95))
total = len(train_dl) // cfg.grad_accum
scheduler = get_cosine_schedule_with_warmup(optimizer, cfg.warmup, total)
scaler = torch.amp.GradScaler("cuda")

model.train()
optimizer.zero_grad()
running = 0.0
step = 0
t0 = time.time()
for i, (x,) in enumerate(train_dl):
    x = x.to(device, non_blocking=True)
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        out = model(input_ids=x, labels=x)
        loss = out.loss / cfg.grad_accum
    scaler.scale(loss).backward()
    running += loss.item()

    if (i + 1) % cfg.grad_accum == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        optimizer.zero_grad()
        step += 1
        if step % cfg.log_every == 0:
            print(f"step {step}/{total} loss {running:.4f} lr {scheduler.get_last_lr()[0]:.2e} {time.time() - t0:.1f}s")
        running = 0.0

model.eval()
tot = 0.0
with torch.no_grad():
    for (x,) in eval_dl:
        x = x.to(device)
        tot += model(x, labels=x).loss.item()
loss = tot / len(eval_dl)
print("eval loss", loss, "ppl", math.exp(min(loss, 20)))
