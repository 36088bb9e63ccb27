"""Gradient accumulation normalised by the number of real tokens of the whole group of batches."""
import argparse

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM

PAD = 0
IGNORE = -100


class Documents(Dataset):
    """Documents of full length except a few shorter ones."""

    def __init__(self, count, seq_len, vocab):
        self.docs = []
        for i in range(count):
            n = seq_len if i % 4 else seq_len - seq_len // 4
            self.docs.append(torch.randint(1, vocab, (n,)))

    def __len__(self):
        return len(self.docs)

    def __getitem__(self, index):
        return self.docs[index]


def collate(docs):
    ids = pad_sequence(docs, batch_first=True, padding_value=PAD)
    labels = pad_sequence(docs, batch_first=True, padding_value=IGNORE)
    mask = (labels != IGNORE).long()
    return ids, mask, labels


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--accumulation-steps", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args()


def main():
    args = get_args()
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to("cuda")
    model.train()
    criterion = nn.CrossEntropyLoss(ignore_index=IGNORE, reduction="sum")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)

    docs = Documents(args.batch_size * args.accumulation_steps * args.steps, args.seq_len, config.vocab_size)
    loader = DataLoader(docs, batch_size=args.batch_size, collate_fn=collate)

    n_tokens, summed = 0, 0.0
    for i, (ids, mask, labels) in enumerate(loader):
        ids, mask, labels = ids.to("cuda"), mask.to("cuda"), labels.to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(input_ids=ids, attention_mask=mask).logits
        shift_logits = logits[..., :-1, :].contiguous()
        shift_labels = labels[..., 1:].contiguous()
        loss = criterion(shift_logits.view(-1, shift_logits.size(-1)).float(), shift_labels.view(-1))
        loss.backward()
        n_tokens += (shift_labels != IGNORE).sum().item()
        summed += loss.item()
        if (i + 1) % args.accumulation_steps != 0:
            continue
        for p in model.parameters():
            p.grad /= n_tokens
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print("loss per token", summed / n_tokens)
        n_tokens, summed = 0, 0.0


if __name__ == "__main__":
    main()
