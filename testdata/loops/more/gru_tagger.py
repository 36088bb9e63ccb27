"""A tagger: embeddings, a bidirectional GRU with autocast, a linear layer."""
import argparse

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab, width, hidden, tags):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.3)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, ids):
        states, _ = self.rnn(self.emb(ids))
        return self.out(states)


p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=64)
p.add_argument("--seq-len", type=int, default=200)
p.add_argument("--hidden", type=int, default=512)
p.add_argument("--amp", action="store_true")
p.add_argument("--half", action="store_true")
args = p.parse_args()
model = Tagger(30000, 300, args.hidden, 17).cuda()
if args.half:
    model = model.to(torch.bfloat16)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(6):
    ids = torch.randint(30000, (args.batch_size, args.seq_len), device="cuda")
    tags = torch.randint(17, (args.batch_size, args.seq_len), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.amp):
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
model.eval()
with torch.no_grad():
    ids = torch.randint(30000, (args.batch_size, args.seq_len), device="cuda")
    print(model(ids).argmax(-1).float().mean().item())
