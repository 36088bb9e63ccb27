import dataclasses
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


@dataclasses.dataclass
class Config:
    n_cont: int = 40
    cat_sizes: tuple = (1000, 50000, 200, 12, 7, 3000)
    emb: int = 64
    hidden: tuple = (2048, 1024, 512)
    batch_size: int = 4096
    epochs: int = 2
    lr: float = 1e-3
    p: float = 0.2


class TabularDataset(Dataset):
    def __init__(self, cfg, n):
        rng = np.random.default_rng(0)
        self.cont = rng.standard_normal((n, cfg.n_cont)).astype(np.float32)
        self.cats = np.stack([rng.integers(0, c, n) for c in cfg.cat_sizes], axis=1).astype(np.int64)
        self.y = rng.random(n).astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.cont[i], self.cats[i], self.y[i]


class TabularModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(c, min(cfg.emb, (c + 1) // 2)) for c in cfg.cat_sizes])
        n_emb = sum(e.embedding_dim for e in self.embeds)
        self.bn_cont = nn.BatchNorm1d(cfg.n_cont)
        self.emb_drop = nn.Dropout(cfg.p)
        sizes = [n_emb + cfg.n_cont, *cfg.hidden]
        layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            layers += [nn.Linear(a, b), nn.ReLU(inplace=True), nn.BatchNorm1d(b), nn.Dropout(cfg.p)]
        layers.append(nn.Linear(sizes[-1], 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, cont, cats):
        x = [e(cats[:, i]) for i, e in enumerate(self.embeds)]
        x = torch.cat(x, 1)
        x = self.emb_drop(x)
        x = torch.cat([x, self.bn_cont(cont)], 1)
        return self.layers(x).squeeze(-1)


cfg = Config()
ds = TabularDataset(cfg, cfg.batch_size * 4 + 1000)
dl = DataLoader(ds, cfg.batch_size, shuffle=True, num_workers=0)
model = TabularModel(cfg).cuda()
opt = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=1e-5)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, steps_per_epoch=len(dl), epochs=cfg.epochs)
lossf = nn.MSELoss()
history = []
for epoch in range(cfg.epochs):
    losses = []
    for cont, cats, y in dl:
        cont, cats, y = cont.cuda(), cats.cuda(), y.cuda()
        pred = model(cont, cats)
        loss = torch.sqrt(lossf(pred, y))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        losses.append(loss.detach())
    history.append(torch.stack(losses).mean().cpu().item())
print(history)
