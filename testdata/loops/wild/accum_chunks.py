"""One large batch per optimizer step, cut into micro batches with torch.chunk."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


@dataclass
class TrainConfig:
    config: str
    batch_size: int
    seq_len: int
    micro_batches: int = 4
    lr: float = 3e-4
    steps: int = 6
    device: str = "cuda"


def lm_loss(model, ids):
    logits = model(ids[:, :-1]).logits
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1))


def train(cfg: TrainConfig) -> list[float]:
    hf = AutoConfig.from_pretrained(cfg.config)
    hf.use_cache = False
    model = AutoModelForCausalLM.from_config(hf).to(cfg.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.steps)
    tokens = torch.randint(hf.vocab_size, (cfg.steps * cfg.batch_size, cfg.seq_len + 1))
    loader = DataLoader(tokens, batch_size=cfg.batch_size, drop_last=True)

    history: list[float] = []
    for big_batch in loader:
        big_batch = big_batch.to(cfg.device)
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for micro in big_batch.chunk(cfg.micro_batches, dim=0):
            with torch.autocast("cuda", torch.bfloat16):
                loss = lm_loss(model, micro)
            (loss / cfg.micro_batches).backward()
            total += loss.item() / cfg.micro_batches
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(total)
        print(f"loss={total:.3f} norm={norm:.3f} lr={scheduler.get_last_lr()[0]:.2e}")
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--micro-batches", type=int, default=4)
    ns = parser.parse_args()
    print(train(TrainConfig(**vars(ns))))
