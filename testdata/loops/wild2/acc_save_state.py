"""Accelerate: train, save_state, go on, load_state, go on again."""
import argparse
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForMaskedLM

argp = argparse.ArgumentParser()
argp.add_argument("--config")
argp.add_argument("--batch-size", type=int, default=8)
argp.add_argument("--seq-len", type=int, default=256)
argp.add_argument("--ckpt-dir", default="acc_ckpt")
args = argp.parse_args()

accelerator = Accelerator()
cfg = AutoConfig.from_pretrained(args.config)
model = AutoModelForMaskedLM.from_config(cfg)
model.gradient_checkpointing_enable()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
ids = torch.randint(cfg.vocab_size, (4 * args.batch_size, args.seq_len))
labels = torch.where(torch.rand(ids.shape) < 0.15, ids, -100)
model, opt, loader = accelerator.prepare(model, opt, DataLoader(TensorDataset(ids, labels), batch_size=args.batch_size))


def epoch(tag):
    model.train()
    for x, y in loader:
        loss = model(input_ids=x, labels=y).loss
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
    print(tag, accelerator.gather(loss.detach()).mean().item())


epoch("first")
accelerator.save_state(args.ckpt_dir)
epoch("second")
accelerator.load_state(args.ckpt_dir)
epoch("again")
accelerator.end_training()
