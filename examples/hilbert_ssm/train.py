"""A state-space classifier for long sequences, run chunk by chunk in both directions.

    python train.py --config configs/gesture.yaml
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.checkpoint import checkpoint


class SSMBlock(nn.Module):
    """Mamba2's recurrence in plain PyTorch."""

    def __init__(self, d, state, expand=2, chunk=64):
        super().__init__()
        self.inner, self.state, self.chunk = d * expand, state, chunk
        self.norm = nn.LayerNorm(d)
        self.inp = nn.Linear(d, 2 * self.inner + 2 * state + 1)
        self.conv = nn.Conv1d(self.inner, self.inner, 4, groups=self.inner, padding=3)
        self.out = nn.Linear(self.inner, d)

    def forward(self, x):
        B, L, _ = x.shape
        z, u, Bm, Cm, dt = self.inp(self.norm(x)).split([self.inner, self.inner, self.state, self.state, 1], -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :L].transpose(1, 2))
        decay = -F.softplus(dt)[..., 0]  # (B, L)
        h = torch.zeros(B, self.state, self.inner, device=x.device, dtype=u.dtype)
        ys = []
        for s in range(0, L, self.chunk):
            e = min(s + self.chunk, L)
            b, c, v, la = Bm[:, s:e], Cm[:, s:e], u[:, s:e], decay[:, s:e].cumsum(1)
            within = (la[:, :, None] - la[:, None, :]).tril().exp().tril().to(c.dtype)
            ys.append((c @ b.transpose(1, 2) * within) @ v + (c * la[..., None].exp().to(c.dtype)) @ h)
            left = (la[:, -1:] - la).exp()[..., None].to(b.dtype)
            h = la[:, -1, None, None].exp().to(h.dtype) * h + (b * left).transpose(1, 2) @ v
        return x + self.out(torch.cat(ys, 1) * F.silu(z))


class HilbertSSM(nn.Module):
    def __init__(self, features, classes, hidden_dim, d_state, num_layers, pooling_scales, saving):
        super().__init__()
        self.inp = nn.Linear(features, hidden_dim)
        self.ssm = nn.ModuleList([SSMBlock(hidden_dim, d_state) for _ in range(num_layers)])
        self.fuse = nn.ModuleList([nn.Linear(2 * hidden_dim, hidden_dim) for _ in range(num_layers)])
        self.scales, self.saving = pooling_scales, saving
        self.classifier = nn.Sequential(nn.Linear(hidden_dim * len(pooling_scales), hidden_dim), nn.GELU(), nn.Dropout(0.1),
                                        nn.Linear(hidden_dim, classes))

    def both(self, ssm, fuse, x):
        return fuse(torch.cat([ssm(x), ssm(x.flip(1)).flip(1)], -1))

    def forward(self, x):
        x = self.inp(x)
        for ssm, fuse in zip(self.ssm, self.fuse):
            x = checkpoint(self.both, ssm, fuse, x, use_reentrant=False) if self.saving else self.both(ssm, fuse, x)
        return self.classifier(torch.cat([x[:, ::s].mean(1) for s in self.scales], -1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="configs/gesture.yaml")
    p.add_argument("--max-steps", type=int)
    a = p.parse_args()
    with open(a.config) as f:
        conf = yaml.safe_load(f)
    data, train, opt = conf["DATA"], conf["TRAINING"], conf["OPTIMIZER"]
    batch = data["dataloader"]["batch_size"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = HilbertSSM(data["features"], data["classes"], saving=train["use_checkpoint"], **conf["MODEL"]["model_init_args"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt["lr"])
    ends = []
    for step in range(a.max_steps or train["max_steps"]):
        for _ in range(opt["gradient_accumulation"]):
            x = torch.randn(batch, data["length"], data["features"]).to(device)
            y = torch.randint(0, data["classes"], (batch,)).to(device)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=train["precision"] == "bf16-mixed"):
                loss = F.cross_entropy(model(x), y)
            (loss / opt["gradient_accumulation"]).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print("step %d loss %.4f" % (step + 1, loss.item()), flush=True)
        ends.append(time.time())
    times = sorted(b - a for a, b in zip(ends[1:], ends[2:])) or [0]
    peak = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if torch.cuda.is_available() else (0, 0)
    print("peak_allocated=%d peak_reserved=%d ms_per_step=%.3f" % (peak + (times[len(times) // 2] * 1e3,)))


if __name__ == "__main__":
    main()
