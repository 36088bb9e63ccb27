"""Selective state space LM, sequential scan in chunks, plain torch."""
import math
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class ModelArgs:
    d_model: int = 768
    n_layer: int = 8
    vocab_size: int = 32768
    d_state: int = 16
    expand: int = 2
    d_conv: int = 4
    dt_rank: int = field(init=False)
    d_inner: int = field(init=False)
    grad_ckpt: bool = True

    def __post_init__(self):
        self.d_inner = self.expand * self.d_model
        self.dt_rank = math.ceil(self.d_model / 16)


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.in_proj = nn.Linear(args.d_model, args.d_inner * 2, bias=False)
        self.conv1d = nn.Conv1d(args.d_inner, args.d_inner, args.d_conv, groups=args.d_inner, padding=args.d_conv - 1)
        self.x_proj = nn.Linear(args.d_inner, args.dt_rank + args.d_state * 2, bias=False)
        self.dt_proj = nn.Linear(args.dt_rank, args.d_inner)
        A = torch.arange(1, args.d_state + 1).float().repeat(args.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(args.d_inner))
        self.out_proj = nn.Linear(args.d_inner, args.d_model, bias=False)

    def forward(self, x):
        b, l, d = x.shape
        x, res = self.in_proj(x).split([self.args.d_inner, self.args.d_inner], dim=-1)
        x = self.conv1d(x.transpose(1, 2))[:, :, :l].transpose(1, 2)
        x = F.silu(x)
        y = self.ssm(x)
        return self.out_proj(y * F.silu(res))

    def ssm(self, x):
        n = self.args.d_state
        A = -torch.exp(self.A_log.float())
        delta, B, C = self.x_proj(x).split([self.args.dt_rank, n, n], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        return self.selective_scan(x, delta, A, B, C, self.D.float())

    def selective_scan(self, u, delta, A, B, C, D):
        b, l, d = u.shape
        dA = torch.exp(delta.unsqueeze(-1) * A)
        dBu = delta.unsqueeze(-1) * B.unsqueeze(2) * u.unsqueeze(-1)
        h = torch.zeros(b, d, A.size(1), device=u.device)
        ys = []
        for i in range(l):
            h = dA[:, i] * h + dBu[:, i]
            ys.append(torch.matmul(h, C[:, i].unsqueeze(-1)).squeeze(-1))
        y = torch.stack(ys, dim=1)
        return y + u * D


class Mamba(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.embedding = nn.Embedding(args.vocab_size, args.d_model)
        self.layers = nn.ModuleList(
            nn.ModuleDict({"norm": RMSNorm(args.d_model), "mixer": MambaBlock(args)}) for _ in range(args.n_layer))
        self.norm_f = RMSNorm(args.d_model)
        self.lm_head = nn.Linear(args.d_model, args.vocab_size, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.lm_head.weight = self.embedding.weight

    @staticmethod
    def _layer(layer, x):
        return layer["mixer"](layer["norm"](x)) + x

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            if self.training and self.args.grad_ckpt:
                x = checkpoint(self._layer, layer, x, use_reentrant=False)
            else:
                x = self._layer(layer, x)
        return self.lm_head(self.norm_f(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    args = ModelArgs(n_layer=4)
    model = Mamba(args).cuda()
    print(sum(p.numel() for p in model.parameters()) // 1000, "k params")
    opt = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    B, L = 8, 256
    for step in range(5):
        batch = torch.randint(0, args.vocab_size, (B, L + 1)).cuda()
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, args.vocab_size), batch[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        print(f"step {step} loss {loss.item():.4f} ppl {math.exp(min(20, loss.item())):.1f}")
