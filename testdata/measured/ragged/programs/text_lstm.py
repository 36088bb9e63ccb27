"""Sentiment classification of padded texts with a bidirectional LSTM."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset
from common import *


class Texts(Dataset):
    def __init__(self, n=4000):
        g = torch.Generator().manual_seed(1)
        self.items = [(torch.randint(1, 20000, (k,), generator=g), i % 2) for i, k in enumerate(lengths(n))]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    ids = pad_sequence([x for x, _ in items], batch_first=True)
    return ids, torch.tensor([len(x) for x, _ in items]), torch.tensor([y for _, y in items])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20000, 300, padding_idx=0)
        self.lstm = nn.LSTM(300, 256, num_layers=2, bidirectional=True, dropout=0.3, batch_first=True)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(512, 2)

    def forward(self, ids, lens):
        x = self.drop(self.embed(ids))
        if args.packed:
            x = pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        y, (h, c) = self.lstm(x)
        if args.packed:
            y, _ = pad_packed_sequence(y, batch_first=True)
        return self.out(self.drop(y.max(dim=1).values if args.variant != "last" else torch.cat([h[-2], h[-1]], 1)))


loader = DataLoader(Texts(), args.batch_size, shuffle=True, collate_fn=collate, drop_last=True)
model = Classifier().to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
step = 0
while step < args.steps:
    for ids, lens, y in loader:
        ids, y = ids.to(device), y.to(device)
        with autocast():
            loss = loss_fn(model(ids, lens), y)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        step += 1
        if step == args.steps:
            break
end()
