import argparse
import itertools

import torch
from transformers import AutoConfig, AutoModelForCausalLM

DEVICE = torch.device("cuda:0")


def token_stream(vocab_size, batch_size, seq_len, seed=0):
    gen = torch.Generator().manual_seed(seed)
    while True:
        yield torch.randint(0, vocab_size, (batch_size, seq_len), generator=gen)


def grouped(iterator, n):
    while group := list(itertools.islice(iterator, n)):
        yield group


def run(args):
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    model.train().to(DEVICE)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.1)
    lr_schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 4))

    stream = itertools.islice(token_stream(config.vocab_size, args.batch_size, args.seq_len), args.updates * args.accum)
    for update, group in enumerate(grouped(stream, args.accum)):
        losses = []
        for ids in group:
            ids = ids.to(DEVICE)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(input_ids=ids, labels=ids).loss
            loss.div(len(group)).backward()
            losses.append(loss.detach())
        optimizer.step()
        lr_schedule.step()
        optimizer.zero_grad()
        print(update, torch.stack(losses).mean().item())


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--config", required=True)
    cli.add_argument("--batch-size", type=int, default=4)
    cli.add_argument("--seq-len", type=int, default=1024)
    cli.add_argument("--accum", type=int, default=2)
    cli.add_argument("--updates", type=int, default=5)
    cli.add_argument("--lr", type=float, default=3e-4)
    run(cli.parse_args())
