# Dense retrieval: question tower and passage tower, in-batch negatives
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel


class Tower(nn.Module):
    def __init__(self, cfg, dim):
        super().__init__()
        self.backbone = AutoModel.from_config(cfg)
        self.proj = nn.Linear(cfg.hidden_size, dim, bias=False)

    def forward(self, ids):
        h = self.backbone(input_ids=ids).last_hidden_state
        return F.normalize(self.proj(h.mean(dim=1)), dim=-1)


class DualEncoder(nn.Module):
    def __init__(self, cfg, dim=256):
        super().__init__()
        self.q = Tower(cfg, dim)
        self.p = Tower(cfg, dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, q_ids, p_ids):
        sims = self.logit_scale.exp() * self.q(q_ids) @ self.p(p_ids).t()
        labels = torch.arange(sims.size(0), device=sims.device)
        return (F.cross_entropy(sims, labels) + F.cross_entropy(sims.t(), labels)) / 2


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--config', type=str)
    parser.add_argument('--batch-size', '-b', type=int, default=16)
    parser.add_argument('--seq-len', type=int, default=128, help='passage length')
    parser.add_argument('--query-len', type=int, default=32)
    parser.add_argument('--steps', type=int, default=6)
    opt = parser.parse_args()
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    cfg = AutoConfig.from_pretrained(opt.config)
    model = DualEncoder(cfg).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-5)
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-5, total_steps=opt.steps)
    model.train()
    for i in range(opt.steps):
        q = torch.randint(0, cfg.vocab_size, (opt.batch_size, opt.query_len), device=device)
        p = torch.randint(0, cfg.vocab_size, (opt.batch_size, opt.seq_len), device=device)
        loss = model(q, p)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sched.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        print(f'{i}: {loss.item():.4f}')
