import argparse
import functools
import time

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*a, **kw):
        start = time.perf_counter()
        result = fn(*a, **kw)
        print(f"{fn.__name__} took {time.perf_counter() - start:.2f}s")
        return result
    return wrapper


def mode(training):
    """puts the model (first argument) in train or eval mode for one call, with or without grad"""
    def deco(fn):
        @functools.wraps(fn)
        def wrapper(model, *a, **kw):
            was = model.training
            model.train(training)
            with torch.set_grad_enabled(training):
                try:
                    return fn(model, *a, **kw)
                finally:
                    model.train(was)
        return wrapper
    return deco


def batch(args, vocab):
    return {
        "input_ids": torch.randint(2, vocab, (args.batch_size, args.seq_len), device=DEVICE),
        "attention_mask": torch.ones(args.batch_size, args.seq_len, dtype=torch.long, device=DEVICE),
        "labels": torch.randint(2, vocab, (args.batch_size, args.target_len), device=DEVICE),
    }


@timed
@mode(True)
def train(model, optimizer, args):
    for _ in range(args.steps):
        loss = model(**batch(args, model.config.vocab_size)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


@timed
@mode(False)
def evaluate(model, args):
    total = 0.0
    for _ in range(2):
        total += model(**batch(args, model.config.vocab_size)).loss.item()
    return total / 2


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--target-len", type=int, default=64)
    ap.add_argument("--steps", type=int, default=4)
    args = ap.parse_args()
    model = AutoModelForSeq2SeqLM.from_config(AutoConfig.from_pretrained(args.config)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for epoch in range(2):
        print("train", train(model, optimizer, args), "val", evaluate(model, args))


if __name__ == "__main__":
    main()
