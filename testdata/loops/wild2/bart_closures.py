import argparse
from contextlib import contextmanager

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM


def make_step(model, optimizer, scheduler, scaler, device_type, accum):
    micro = 0

    def step(batch):
        nonlocal micro
        with torch.amp.autocast(device_type, dtype=torch.float16, enabled=device_type == "cuda"):
            loss = model(**batch).loss
        scaler.scale(loss / accum).backward()
        micro += 1
        if micro % accum == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
        return loss.detach()

    return step


def make_loader(vocab, bs, src, tgt, device):
    def load():
        ids = torch.randint(4, vocab, (bs, src), device=device)
        return dict(input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.randint(4, vocab, (bs, tgt), device=device))
    return load


@contextmanager
def section(name):
    print(">>", name)
    yield
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        print("<<", name, torch.cuda.memory_allocated() >> 20, "MiB")


parser = argparse.ArgumentParser("summarization-like training")
parser.add_argument("--model_name_or_path", required=True)
parser.add_argument("--per_device_batch_size", type=int, default=4)
parser.add_argument("--max_source_length", type=int, default=512)
parser.add_argument("--max_target_length", type=int, default=128)
parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
ns = parser.parse_args()

dev = "cuda" if torch.cuda.is_available() else "cpu"
with section("build"):
    cfg = AutoConfig.from_pretrained(ns.model_name_or_path)
    model = AutoModelForSeq2SeqLM.from_config(cfg).to(dev)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=10)
    scaler = torch.amp.GradScaler(dev, enabled=dev == "cuda")
step = make_step(model, optimizer, scheduler, scaler, dev, ns.gradient_accumulation_steps)
load = make_loader(cfg.vocab_size, ns.per_device_batch_size, ns.max_source_length, ns.max_target_length, dev)
with section("train"):
    losses = [step(load()) for _ in range(8)]
print("loss", torch.stack(losses).float().mean().item())
