"""Masked language modelling with accelerate: mask on the fly, gather losses in evaluation, perplexity."""
import argparse
import math

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForMaskedLM, get_scheduler


def mask_tokens(ids, mask_id, p=0.15):
    labels = ids.clone()
    chosen = torch.bernoulli(torch.full(labels.shape, p)).bool()
    labels[~chosen] = -100
    ids = ids.clone()
    ids[chosen] = mask_id
    return ids, labels


class Collator:
    def __init__(self, mask_id):
        self.mask_id = mask_id

    def __call__(self, rows):
        ids = torch.stack(rows)
        ids, labels = mask_tokens(ids, self.mask_id)
        return {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}


def main():
    parser = argparse.ArgumentParser(description="MLM")
    parser.add_argument("--config")
    parser.add_argument("--per_device_batch_size", type=int, default=16)
    parser.add_argument("--max_seq_length", type=int, default=128)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    args = parser.parse_args()

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=args.gradient_accumulation_steps)
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForMaskedLM.from_config(config)
    rows = [torch.randint(5, config.vocab_size, (args.max_seq_length,)) for _ in range(args.per_device_batch_size * 6)]
    train = DataLoader(rows, shuffle=True, collate_fn=Collator(4), batch_size=args.per_device_batch_size)
    valid = DataLoader(rows[: 2 * args.per_device_batch_size], collate_fn=Collator(4), batch_size=args.per_device_batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    scheduler = get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=12)
    model, optimizer, train, valid, scheduler = accelerator.prepare(model, optimizer, train, valid, scheduler)

    for epoch in range(2):
        model.train()
        for batch in train:
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        losses = []
        for batch in valid:
            with torch.no_grad():
                outputs = model(**batch)
            loss = outputs.loss
            losses.append(accelerator.gather_for_metrics(loss.repeat(args.per_device_batch_size)))
        losses = torch.cat(losses)
        accelerator.print(f"epoch {epoch}: perplexity: {math.exp(torch.mean(losses))}")


if __name__ == "__main__":
    main()
