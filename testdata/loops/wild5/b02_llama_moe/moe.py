import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.g).type_as(x)


def build_rope(seq, hd, theta):
    inv = 1.0 / theta ** (torch.arange(0, hd, 2).float() / hd)
    ang = torch.outer(torch.arange(seq).float(), inv)
    return ang.cos(), ang.sin()


def rotate(x, cos, sin):
    x1, x2 = x[..., 0::2], x[..., 1::2]
    out = torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1)
    return out.flatten(-2).type_as(x)


class GQAttention(nn.Module):
    def __init__(self, dim, nq, nkv):
        super().__init__()
        self.nq, self.nkv, self.hd = nq, nkv, dim // nq
        self.wq = nn.Linear(dim, nq * self.hd, bias=False)
        self.wk = nn.Linear(dim, nkv * self.hd, bias=False)
        self.wv = nn.Linear(dim, nkv * self.hd, bias=False)
        self.wo = nn.Linear(nq * self.hd, dim, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.nq, self.hd).transpose(1, 2)
        k = self.wk(x).view(b, t, self.nkv, self.hd).transpose(1, 2)
        v = self.wv(x).view(b, t, self.nkv, self.hd).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        rep = self.nq // self.nkv
        k = k.repeat_interleave(rep, dim=1)
        v = v.repeat_interleave(rep, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, t, -1))


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoE(nn.Module):
    def __init__(self, dim, hidden, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(n_experts))
        self.n, self.k = n_experts, top_k

    def forward(self, x):
        b, t, d = x.shape
        flat = x.reshape(-1, d)
        logits = self.router(flat).float()
        probs = logits.softmax(-1)
        w, idx = probs.topk(self.k, dim=-1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            tok, slot = torch.where(idx == e)
            if tok.numel() == 0:
                continue
            y = expert(flat[tok]) * w[tok, slot, None].to(flat.dtype)
            out.index_add_(0, tok, y.to(out.dtype))
        load = F.one_hot(idx, self.n).float().sum(1).mean(0) / self.k
        aux = self.n * (load * probs.mean(0)).sum()
        z = torch.logsumexp(logits, -1).pow(2).mean()
        return out.view(b, t, d), aux, z


class Layer(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.n1, self.n2 = RMSNorm(m["dim"]), RMSNorm(m["dim"])
        self.attn = GQAttention(m["dim"], m["q_heads"], m["kv_heads"])
        self.moe = SparseMoE(m["dim"], m["ffn"], m["experts"], m["top_k"])

    def forward(self, x, cos, sin):
        x = x + self.attn(self.n1(x), cos, sin)
        h, aux, z = self.moe(self.n2(x))
        return x + h, aux, z


class MoELM(nn.Module):
    def __init__(self, m, seq_len):
        super().__init__()
        self.tok = nn.Embedding(m["vocab"], m["dim"])
        self.layers = nn.ModuleList(Layer(m) for _ in range(m["layers"]))
        self.norm = RMSNorm(m["dim"])
        self.head = nn.Linear(m["dim"], m["vocab"], bias=False)
        cos, sin = build_rope(seq_len, m["dim"] // m["q_heads"], m["rope_theta"])
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        t = ids.size(1)
        x = self.tok(ids)
        aux = z = 0.0
        for layer in self.layers:
            x, a, zz = layer(x, self.cos[:t], self.sin[:t])
            aux, z = aux + a, z + zz
        return self.head(self.norm(x)), aux / len(self.layers), z / len(self.layers)
