"""Translation with GRUs and attention; two lengths per batch. --variant loop decodes word by word."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from common import *

V = 6000
r = random.Random(5)
g = torch.Generator().manual_seed(1)
data = []
for n in lengths(3000, 25, 0.45, 100):
    m = max(2, int(n * r.uniform(0.8, 1.3)))
    data.append((torch.randint(3, V, (n,), generator=g), torch.randint(3, V, (m,), generator=g)))


def collate(items):
    return tuple(pad_sequence(list(x), batch_first=True) for x in zip(*items))


class Seq2Seq(nn.Module):
    def __init__(self, d=384):
        super().__init__()
        self.src, self.tgt = nn.Embedding(V, d, padding_idx=0), nn.Embedding(V, d, padding_idx=0)
        self.encoder = nn.GRU(d, d, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * d, d)
        self.decoder = nn.GRU(d, d, batch_first=True)
        self.mix, self.out = nn.Linear(2 * d, d), nn.Linear(d, V)

    def attend(self, h, memory):
        w = torch.softmax(h @ memory.transpose(1, 2), dim=-1)
        return torch.tanh(self.mix(torch.cat([h, w @ memory], -1)))

    def forward(self, src, tgt):
        memory, h = self.encoder(self.src(src))
        memory = self.bridge(memory)
        h = h.sum(0, keepdim=True)
        if args.variant != "loop":
            y, _ = self.decoder(self.tgt(tgt), h)
            return self.out(self.attend(y, memory))
        outs = []
        for t in range(tgt.shape[1]):
            y, h = self.decoder(self.tgt(tgt[:, t:t + 1]), h)
            outs.append(self.out(self.attend(y, memory)))
        return torch.cat(outs, 1)


loader = DataLoader(data, args.batch_size, shuffle=True, collate_fn=collate, num_workers=2)
model = Seq2Seq().to(device)
opt = torch.optim.Adam(model.parameters())
step = 0
while step < args.steps:
    for src, tgt in loader:
        src, tgt = src.to(device), tgt.to(device)
        with autocast():
            out = model(src, tgt[:, :-1])
            loss = nn.functional.cross_entropy(out.reshape(-1, V), tgt[:, 1:].reshape(-1), ignore_index=0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if step == args.steps:
            break
end()
