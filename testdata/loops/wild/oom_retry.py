import argparse
import gc

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def try_step(model, optimizer, tokens):
    try:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        return loss.item()
    except torch.cuda.OutOfMemoryError:
        print("| WARNING: ran out of memory, skipping batch")
        optimizer.zero_grad()
        gc.collect()
        torch.cuda.empty_cache()
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--max-updates", type=int, default=8)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    size = args.batch_size
    updates = 0
    while updates < args.max_updates:
        tokens = torch.randint(0, config.vocab_size, (size, args.seq_len)).cuda()
        value = try_step(model, optimizer, tokens)
        if value is None:
            if size == 1:
                raise RuntimeError("does not fit even with one sequence")
            size //= 2
            continue
        updates += 1
        print(f"update {updates} batch {size} loss {value:.4f}")


if __name__ == "__main__":
    main()
