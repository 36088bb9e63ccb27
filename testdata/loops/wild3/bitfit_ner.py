import argparse

import torch
from transformers import AutoConfig, AutoModelForTokenClassification, get_linear_schedule_with_warmup


def only_biases(model):
    trainable = []
    for name, param in model.named_parameters():
        if name.endswith("bias") or "classifier" in name:
            trainable.append(param)
        else:
            param.requires_grad = False
    return trainable


def batches(vocab, labels, size, length, n, device):
    for _ in range(n):
        ids = torch.randint(0, vocab, (size, length))
        yield {
            "input_ids": ids.to(device),
            "attention_mask": torch.ones_like(ids).to(device),
            "labels": torch.randint(0, labels, (size, length)).to(device),
        }


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", type=str)
    ap.add_argument("--batch_size", type=int, default=32)
    ap.add_argument("--max_length", type=int, default=128)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    config = AutoConfig.from_pretrained(args.config, num_labels=9)
    model = AutoModelForTokenClassification.from_config(config)
    params = only_biases(model)
    print(sum(p.numel() for p in params), "trainable")
    device = "cuda:0"
    model.to(device)
    optimizer = torch.optim.AdamW(params, lr=args.lr)
    schedule = get_linear_schedule_with_warmup(optimizer, 2, 10)
    total = 0
    model.train()
    for batch in batches(config.vocab_size, 9, args.batch_size, args.max_length, 6, device):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        total += loss.item()
    print(total)
