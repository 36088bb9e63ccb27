"""nn.Transformer on pairs of sentences of random lengths from an iterable dataset, padded to the first of each batch."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset


@dataclass
class Settings:
    dim: int = 128
    heads: int = 4
    layers: int = 2
    words: int = 2000
    bs: int = 16
    longest: int = 60


class Pairs(IterableDataset):
    def __init__(self, n, s):
        self.n, self.s = n, s

    def __len__(self):
        return self.n

    def __iter__(self):
        g = torch.Generator().manual_seed(0)
        for i in range(self.n):
            shorter = 0 if i % self.s.bs == 0 else int(torch.randint(0, 20, (1,), generator=g))
            a, b = self.s.longest - shorter, self.s.longest - 6 - shorter
            yield torch.randint(1, self.s.words, (a,), generator=g).tolist(), torch.randint(1, self.s.words, (b,), generator=g).tolist()


def collate(pairs):
    src = [torch.cat((torch.tensor([1]), torch.tensor(a), torch.tensor([2]))) for a, b in pairs]
    tgt = [torch.cat((torch.tensor([1]), torch.tensor(b), torch.tensor([2]))) for a, b in pairs]
    return pad_sequence(src), pad_sequence(tgt)


class Translator(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.src, self.tgt = nn.Embedding(s.words, s.dim), nn.Embedding(s.words, s.dim)
        self.body = nn.Transformer(s.dim, s.heads, s.layers, s.layers, 4 * s.dim)
        self.head = nn.Linear(s.dim, s.words)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(0), device=tgt.device)
        pad, tgt_pad = (src == 0).transpose(0, 1), (tgt == 0).transpose(0, 1)
        return self.head(self.body(self.src(src), self.tgt(tgt), None, mask, None, pad, tgt_pad, pad))


parser = argparse.ArgumentParser()
for name, value in Settings().__dict__.items():
    parser.add_argument(f"--{name}", type=type(value), default=value)
s = Settings(**vars(parser.parse_args()))
model = Translator(s).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for epoch in range(2):
    model.train()
    for src, tgt in DataLoader(Pairs(s.bs * 5, s), batch_size=s.bs, collate_fn=collate):
        src, tgt = src.cuda(), tgt.cuda()
        logits = model(src, tgt[:-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, s.words), tgt[1:].reshape(-1), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for src, tgt in DataLoader(Pairs(s.bs + 4, s), batch_size=s.bs, collate_fn=collate):
            model(src.cuda(), tgt.cuda()[:-1])
