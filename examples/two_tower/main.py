"""Two towers that map queries and documents into one space, trained on triplets.

    python main.py --batch-size 256 --accumulation-steps 2
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Triplets(Dataset):
    """Synthetic token ids: a query, a document that answers it, and one that does not."""

    def __init__(self, samples, vocab, query_len, doc_len):
        self.samples, self.vocab, self.lens = samples, vocab, (query_len, doc_len, doc_len)

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return tuple(torch.randint(0, self.vocab, (n,), generator=g) for n in self.lens)


class TwoTower(nn.Module):
    def __init__(self, vocab, emb, hidden, out=256):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.query_rnn = nn.GRU(emb, hidden, batch_first=True)
        self.doc_rnn = nn.GRU(emb, hidden, batch_first=True)
        self.query_proj = nn.Linear(hidden, out)
        self.doc_proj = nn.Linear(hidden, out)

    def encode(self, ids, rnn, proj):
        states, _ = rnn(self.emb(ids))
        return F.normalize(proj(states.mean(1)), dim=-1)

    def encode_queries(self, ids):
        return self.encode(ids, self.query_rnn, self.query_proj)

    def encode_documents(self, ids):
        return self.encode(ids, self.doc_rnn, self.doc_proj)


def triplet_loss(q, pos, neg, margin=0.2):
    return F.relu(margin + (1 - (q * pos).sum(-1)) - (1 - (q * neg).sum(-1))).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--accumulation-steps", type=int, default=1)
    p.add_argument("--no-mixed-precision", action="store_true")
    p.add_argument("--num-workers", type=int, default=2)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--max-samples", type=int, default=50000)
    p.add_argument("--max-steps", type=int, default=0, help="0: all of them")
    p.add_argument("--vocab", type=int, default=30522)
    p.add_argument("--emb", type=int, default=300)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--doc-len", type=int, default=128)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)

    data = Triplets(a.max_samples, a.vocab, query_len=16, doc_len=a.doc_len)
    loader = DataLoader(data, a.batch_size, shuffle=True, drop_last=True, num_workers=a.num_workers,
                        pin_memory=device == "cuda", persistent_workers=a.num_workers > 0)
    model = TwoTower(a.vocab, a.emb, a.hidden).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    amp = device == "cuda" and not a.no_mixed_precision
    scaler = torch.cuda.amp.GradScaler(enabled=amp)
    steps, ends = 0, []
    for _ in range(a.epochs):
        for i, batch in enumerate(loader):
            queries, positives, negatives = (x.to(device, non_blocking=True) for x in batch)
            with torch.autocast(device, dtype=torch.float16, enabled=amp):
                loss = triplet_loss(model.encode_queries(queries), model.encode_documents(positives), model.encode_documents(negatives))
            scaler.scale(loss / a.accumulation_steps).backward()
            if (i + 1) % a.accumulation_steps:
                continue
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            steps += 1
            print("step %d loss %.4f" % (steps, loss.item()), flush=True)
            ends.append(time.time())
            if steps == a.max_steps:
                return finish(ends)
    finish(ends)


def finish(ends):
    times = sorted(b - a for a, b in zip(ends[1:], ends[2:])) or [0]
    peak = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if torch.cuda.is_available() else (0, 0)
    print("peak_allocated=%d peak_reserved=%d ms_per_step=%.3f" % (peak + (times[len(times) // 2] * 1e3,)))


if __name__ == "__main__":
    main()
