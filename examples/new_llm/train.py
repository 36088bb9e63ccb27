"""A language model that carries one context vector from token to token.

    python train.py --batch-size 32 --max-length 256 --context-dim 512
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class NewLLM(nn.Module):
    def __init__(self, vocab, embed, context, hidden=1024):
        super().__init__()
        self.context = context
        self.emb = nn.Embedding(vocab, embed)
        self.update = nn.Sequential(nn.Linear(embed + context, hidden), nn.GELU(), nn.Linear(hidden, context))
        self.gate = nn.Linear(embed + context, context)
        self.head = nn.Linear(context, vocab)
        self.reconstruct = nn.Linear(context, embed + context)

    def forward(self, ids):
        B, S = ids.shape
        e = self.emb(ids)
        c = torch.zeros(B, self.context, device=ids.device, dtype=e.dtype)
        trajectory, targets = [], []
        for t in range(S):
            seen = torch.cat([e[:, t], c], -1)
            targets.append(seen.detach())  # without this every step would keep the whole past
            c = c + torch.sigmoid(self.gate(seen)) * self.update(seen)
            trajectory.append(c)
        contexts = torch.stack(trajectory, 1)
        return self.head(contexts), F.mse_loss(self.reconstruct(contexts), torch.stack(targets, 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--max-length", type=int, default=256)
    p.add_argument("--context-dim", type=int, default=512)
    p.add_argument("--embed-dim", type=int, default=512)
    p.add_argument("--vocab-size", type=int, default=50257)
    p.add_argument("--accumulation-steps", type=int, default=1)
    p.add_argument("--max-steps", type=int, default=20)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = NewLLM(a.vocab_size, a.embed_dim, a.context_dim).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ends = []
    for step in range(a.max_steps):
        for _ in range(a.accumulation_steps):
            ids = torch.randint(0, a.vocab_size, (a.batch_size, a.max_length)).to(device)
            logits, reconstruction = model(ids)
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1)) + reconstruction
            (loss / a.accumulation_steps).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print("step %d loss %.4f" % (step + 1, loss.item()), flush=True)
        ends.append(time.time())
    times = sorted(b - a for a, b in zip(ends[1:], ends[2:])) or [0]
    peak = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if torch.cuda.is_available() else (0, 0)
    print("peak_allocated=%d peak_reserved=%d ms_per_step=%.3f" % (peak + (times[len(times) // 2] * 1e3,)))


if __name__ == "__main__":
    main()
