"""Padded texts with a small transformer and a mask."""
import math
import torch
from torch import nn
from torch.utils.data import DataLoader
from common import *

g = torch.Generator().manual_seed(1)
data = [(torch.randint(1, 8000, (k,), generator=g), i % 4) for i, k in enumerate(lengths(3000, 80, 0.5, 512))]


def collate(items):
    longest = max(len(x) for x, _ in items)
    ids = torch.zeros(len(items), longest, dtype=torch.long)
    for i, (x, _) in enumerate(items):
        ids[i, : len(x)] = x
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([y for _, y in items])}


class Model(nn.Module):
    def __init__(self, d=256, heads=8, layers=4):
        super().__init__()
        self.embed, self.place = nn.Embedding(8000, d), nn.Embedding(512, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d, 4)

    def forward(self, input_ids, attention_mask):
        at = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.embed(input_ids) + self.place(at)
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        m = attention_mask.unsqueeze(-1)
        return self.head((x * m).sum(1) / m.sum(1))


class Bucketed(torch.utils.data.Sampler):
    """Batches of similar lengths, in random order."""

    def __len__(self):
        return len(data) // args.batch_size

    def __iter__(self):
        order = sorted(range(len(data)), key=lambda i: len(data[i][0]))
        b = args.batch_size
        batches = [order[i:i + b] for i in range(0, len(order) - b + 1, b)]
        random.shuffle(batches)
        return iter(batches)


if args.variant == "bucket":
    loader = DataLoader(data, batch_sampler=Bucketed(), collate_fn=collate)
else:
    loader = DataLoader(data, args.batch_size, shuffle=True, collate_fn=collate, drop_last=True)
model = Model().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
step = 0
while step < args.steps:
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        labels = batch.pop("labels")
        with autocast():
            loss = nn.functional.cross_entropy(model(**batch), labels)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        step += 1
        if step == args.steps:
            break
end()
