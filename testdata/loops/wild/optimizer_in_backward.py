"""The optimizer steps inside the backward pass, so that no two gradients live together."""
import argparse

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def attach(model, lr):
    optimizers = {p: torch.optim.AdamW([p], lr=lr, foreach=False) for p in model.parameters()}

    def hook(param):
        optimizers[param].step()
        optimizers[param].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(hook)
    return optimizers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to("cuda")
    attach(model, lr=1e-4)
    model.train()
    for step in range(args.steps):
        ids = torch.randint(config.vocab_size, (args.batch_size, args.seq_len), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        print(step, loss.item())


if __name__ == "__main__":
    main()
