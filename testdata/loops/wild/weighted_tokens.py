import argparse
from functools import partial

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM


class InstructionDataset(Dataset):
    """(tokens, weights): the prompt weighs nothing, the answer grows towards its end."""

    def __init__(self, vocab_size, max_length, size=64):
        self.vocab_size = vocab_size
        self.max_length = max_length
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        length = max(8, self.max_length - (index % 3) * 16)
        tokens = torch.randint(0, self.vocab_size, (length,))
        weights = torch.zeros(length)
        prompt = length // 3
        weights[prompt:] = torch.linspace(0.5, 1.5, length - prompt)
        return tokens, weights


def pad_batch(samples, max_length, pad_id=0):
    tokens = torch.full((len(samples), max_length), pad_id, dtype=torch.long)
    weights = torch.zeros(len(samples), max_length)
    mask = torch.zeros(len(samples), max_length, dtype=torch.long)
    for row, (t, w) in enumerate(samples):
        tokens[row, : len(t)] = t
        weights[row, : len(w)] = w
        mask[row, : len(t)] = 1
    return tokens, mask, weights


def weighted_loss(logits, tokens, weights):
    per_token = nn.functional.cross_entropy(
        logits[:, :-1].permute(0, 2, 1), tokens[:, 1:], reduction="none"
    )
    w = weights[:, 1:]
    return (per_token * w).sum() / w.sum().clamp(min=1e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=str, required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    device = torch.device("cuda")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    model.to(device)
    collate = partial(pad_batch, max_length=args.seq_len)
    loader = DataLoader(InstructionDataset(config.vocab_size, args.seq_len, args.steps * args.batch_size), args.batch_size, collate_fn=collate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)

    model.train()
    for it, (tokens, mask, weights) in enumerate(loader):
        tokens, mask, weights = tokens.to(device), mask.to(device), weights.to(device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(input_ids=tokens, attention_mask=mask).logits
            loss = weighted_loss(logits, tokens, weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{it}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
