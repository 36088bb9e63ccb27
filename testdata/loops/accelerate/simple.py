import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


def training_function(args):
    accelerator = Accelerator(mixed_precision="bf16")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    model = model.to(accelerator.device)
    optimizer = torch.optim.AdamW(params=model.parameters(), lr=1e-4)
    tokens = torch.randint(0, config.vocab_size, (args.batch_size * args.steps, args.seq_len))
    loader = DataLoader([{"input_ids": t, "labels": t} for t in tokens], batch_size=args.batch_size)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        batch.to(accelerator.device) if hasattr(batch, "to") else None
        outputs = model(**batch)
        loss = outputs.loss
        loss = loss / 1
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.save({"step": step}, "state.pt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=6)
    training_function(parser.parse_args())


if __name__ == "__main__":
    main()
