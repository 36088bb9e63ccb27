import argparse

import lightning as L
import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--accumulate", type=int, default=1)
    args = parser.parse_args()

    fabric = L.Fabric(accelerator="cuda", devices=1, precision=args.precision)
    fabric.launch()
    with fabric.init_module():
        config = AutoConfig.from_pretrained(args.config)
        model = AutoModelForCausalLM.from_config(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer = fabric.setup(model, optimizer)
    data = torch.randint(0, config.vocab_size, (args.batch_size * args.steps * args.accumulate, args.seq_len))
    dataloader = fabric.setup_dataloaders(DataLoader(data, batch_size=args.batch_size))

    model.train()
    for step, input_ids in enumerate(dataloader):
        is_accumulating = (step + 1) % args.accumulate != 0
        with fabric.no_backward_sync(model, enabled=is_accumulating):
            logits = model(input_ids=input_ids).logits
            loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), input_ids[:, 1:].reshape(-1))
            fabric.backward(loss / args.accumulate)
        if not is_accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
        fabric.print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
