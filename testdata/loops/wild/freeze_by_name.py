import argparse
import re

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM


class RandomText(Dataset):
    def __init__(self, config, block_size, examples):
        self.config, self.block_size, self.examples = config, block_size, examples

    def __getitem__(self, item):
        ids = torch.randint(0, self.config.vocab_size, (self.block_size,))
        return dict(input_ids=ids, labels=ids.clone())

    def __len__(self):
        return self.examples


def freeze(model, keep_last):
    """Trains the last blocks, the final norm and the head only."""
    n_layers = model.config.num_hidden_layers
    trainable = 0
    for name, param in model.named_parameters():
        match = re.search(r"\.(?:layers|h|layer)\.(\d+)\.", name)
        if match:
            param.requires_grad = int(match.group(1)) >= n_layers - keep_last
        elif "embed" in name or "wte" in name or "wpe" in name:
            param.requires_grad = False
        else:
            param.requires_grad = True
        trainable += param.numel() if param.requires_grad else 0
    print("trainable parameters:", trainable)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--keep-last", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    freeze(model, args.keep_last)
    model.to(device)

    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-4)
    loader = DataLoader(RandomText(config, args.seq_len, 8 * args.batch_size), batch_size=args.batch_size)
    for epoch in range(args.epochs):
        for step, batch in enumerate(loader):
            for key in batch:
                batch[key] = batch[key].to(device)
            optimizer.zero_grad()
            with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
                output = model(**batch)
            output.loss.backward()
            optimizer.step()
            if step % 2 == 0:
                print(f"epoch {epoch} step {step} loss {output.loss.item():.4f}")


if __name__ == "__main__":
    main()
