import argparse

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


def token_stream(vocab_size, total):
    state = torch.Generator().manual_seed(0)
    left = total
    while left > 0:
        n = min(left, 4096)
        yield torch.randint(vocab_size, (n,), generator=state)
        left -= n


def batch_stream(stream, batch_size, seq_len):
    need = batch_size * (seq_len + 1)
    buffer = torch.empty(0, dtype=torch.long)
    for piece in stream:
        buffer = torch.cat([buffer, piece])
        while buffer.numel() >= need:
            yield buffer[:need].view(batch_size, seq_len + 1)
            buffer = buffer[need:]


def main(args):
    device = torch.device(args.device)
    config = AutoConfig.from_pretrained(args.config)
    lm = AutoModelForCausalLM.from_config(config)
    lm.to(device)
    lm.train()
    optimizer = torch.optim.Adagrad(lm.parameters(), lr=args.lr, initial_accumulator_value=0.1)
    total = args.max_steps * args.batch_size * (args.seq_len + 1)
    losses = []
    for step, chunk in enumerate(batch_stream(token_stream(config.vocab_size, total), args.batch_size, args.seq_len)):
        chunk = chunk.to(device)
        inputs, targets = chunk[:, :-1].contiguous(), chunk[:, 1:].contiguous()
        logits = lm(input_ids=inputs, use_cache=False).logits
        loss = F.cross_entropy(logits.transpose(1, 2), targets)
        lm.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(lm.parameters(), clip_value=0.5)
        optimizer.step()
        losses.append(loss.item())
        del logits, loss
    print("losses:", losses)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--max-steps", type=int, default=6)
    ap.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    main(ap.parse_args())
