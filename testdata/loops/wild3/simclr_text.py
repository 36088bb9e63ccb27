"""Two dropout views of a sentence, a projection head and NT-Xent over the whole batch."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel


class SimCLR(nn.Module):
    def __init__(self, cfg, dim=128):
        super().__init__()
        self.encoder = AutoModel.from_config(cfg)
        h = cfg.hidden_size
        self.projection = nn.Sequential(nn.Linear(h, h), nn.ReLU(inplace=True), nn.Linear(h, dim))

    def embed(self, ids, mask):
        out = self.encoder(ids, attention_mask=mask)
        return F.normalize(self.projection(out[0][:, 0]), dim=-1)

    def forward(self, ids, mask):
        return self.embed(ids, mask), self.embed(ids, mask)


def nt_xent(a, b, tau=0.05):
    z = torch.cat([a, b], dim=0)
    sim = z @ z.t() / tau
    n = a.size(0)
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)]).to(z.device)
    return F.cross_entropy(sim, target)


def run():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--seq-len", type=int, default=64)
    args = ap.parse_args()
    cfg = AutoConfig.from_pretrained(args.config)
    net = SimCLR(cfg).cuda()
    optim = torch.optim.AdamW(net.parameters(), 3e-5)
    history = []
    for epoch in range(2):
        for _ in range(3):
            ids = torch.randint(0, cfg.vocab_size, (args.batch_size, args.seq_len), device="cuda")
            mask = torch.ones_like(ids)
            za, zb = net(ids, mask)
            loss = nt_xent(za, zb)
            optim.zero_grad()
            loss.backward()
            optim.step()
            history.append(loss.item())
        torch.save(net.state_dict(), "simclr.pt")
    print(sum(history) / len(history))


run()
