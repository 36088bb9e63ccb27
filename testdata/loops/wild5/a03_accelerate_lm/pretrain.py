#!/usr/bin/env python
import argparse
import json
import os
import tempfile
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm
from transformers import AutoModelForCausalLM, LlamaConfig, get_scheduler


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="config.json")
    p.add_argument("--block_size", type=int, default=1024)
    p.add_argument("--per_device_batch_size", type=int, default=4)
    p.add_argument("--gradient_accumulation_steps", type=int, default=4)
    p.add_argument("--max_train_steps", type=int, default=6)
    p.add_argument("--learning_rate", type=float, default=4e-4)
    p.add_argument("--weight_decay", type=float, default=0.1)
    p.add_argument("--mixed_precision", default="bf16")
    return p.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator(
        mixed_precision=args.mixed_precision,
        gradient_accumulation_steps=args.gradient_accumulation_steps,
    )
    set_seed(1234)
    with open(args.config) as f:
        cfg = json.load(f)
    cfg.pop("model_type")
    config = LlamaConfig(**cfg)
    model = AutoModelForCausalLM.from_config(config)
    accelerator.print(f"{sum(p.numel() for p in model.parameters())/1e6:.1f}M params")

    n_train = args.per_device_batch_size * args.gradient_accumulation_steps * args.max_train_steps
    tokens = torch.randint(0, config.vocab_size, (n_train, args.block_size))
    val_tokens = torch.randint(0, config.vocab_size, (16, args.block_size))
    train_dl = DataLoader(TensorDataset(tokens), batch_size=args.per_device_batch_size, shuffle=True, drop_last=True)
    eval_dl = DataLoader(TensorDataset(val_tokens), batch_size=args.per_device_batch_size)

    no_decay = ["norm", "bias"]
    groups = [
        {"params": [p for n, p in model.named_parameters() if not any(k in n for k in no_decay)],
         "weight_decay": args.weight_decay},
        {"params": [p for n, p in model.named_parameters() if any(k in n for k in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.learning_rate, betas=(0.9, 0.95))
    lr_scheduler = get_scheduler("cosine", optimizer=optimizer, num_warmup_steps=1,
                                 num_training_steps=args.max_train_steps)
    model, optimizer, train_dl, eval_dl, lr_scheduler = accelerator.prepare(
        model, optimizer, train_dl, eval_dl, lr_scheduler)

    progress = tqdm(range(args.max_train_steps), disable=not accelerator.is_local_main_process)
    done = 0
    total_loss = 0
    model.train()
    t0 = time.time()
    for (ids,) in train_dl:
        with accelerator.accumulate(model):
            out = model(input_ids=ids, labels=ids)
            loss = out.loss
            total_loss += loss.detach().float()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            progress.update(1)
            done += 1
            progress.set_postfix(loss=f"{total_loss.item()/args.gradient_accumulation_steps:.3f}")
            total_loss = 0
        if done >= args.max_train_steps:
            break

    model.eval()
    losses = []
    for (ids,) in eval_dl:
        with torch.no_grad():
            outputs = model(input_ids=ids, labels=ids)
        losses.append(accelerator.gather_for_metrics(outputs.loss.repeat(ids.shape[0])))
    eval_loss = torch.cat(losses).mean()
    accelerator.print(f"eval loss {eval_loss.item():.4f}  time {time.time()-t0:.1f}s")

    with tempfile.TemporaryDirectory() as d:
        accelerator.wait_for_everyone()
        unwrapped = accelerator.unwrap_model(model)
        accelerator.save(unwrapped.state_dict(), os.path.join(d, "model.pt"))


if __name__ == "__main__":
    main()
