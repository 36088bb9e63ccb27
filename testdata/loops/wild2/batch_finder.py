import argparse
import gc

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def try_batch(model, bs, seq_len, vocab, device):
    try:
        ids = torch.randint(vocab, (bs, seq_len), device=device)
        model(ids, labels=ids).loss.backward()
        return True
    except RuntimeError as err:
        if "out of memory" not in str(err):
            raise
        return False
    finally:
        model.zero_grad(set_to_none=True)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def find_batch_size(model, start, limit, seq_len, vocab, device):
    bs, best = start, None
    while bs <= limit:
        if not try_batch(model, bs, seq_len, vocab, device):
            break
        best = bs
        bs *= 2
    if best is None:
        raise SystemExit("does not fit at all")
    return best


def train(model, bs, args, vocab, device):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(args.steps):
        ids = torch.randint(vocab, (bs, args.seq_len), device=device)
        out = model(ids, labels=ids)
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(step, out.loss.item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=8, help="upper limit for the search")
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(cfg).to(device)
    model.train()
    bs = find_batch_size(model, 1, args.batch_size, args.seq_len, cfg.vocab_size, device)
    print("using batch size", bs)
    train(model, bs, args, cfg.vocab_size, device)
