import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, hidden, heads, p):
        super().__init__()
        self.h = heads
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
        self.p = p

    def _split(self, t):
        return t.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, x, key_padding_mask=None):
        q, k, v = self._split(self.q(x)), self._split(self.k(x)), self._split(self.v(x))
        mask = None
        if key_padding_mask is not None:
            mask = key_padding_mask[:, None, None, :].to(torch.bool)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0.0)
        return self.o(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, hidden, heads, p=0.1):
        super().__init__()
        self.attention = SelfAttention(hidden, heads, p)
        self.norms = nn.ModuleDict({"a": nn.LayerNorm(hidden), "f": nn.LayerNorm(hidden)})
        self.ff = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(approximate="tanh"), nn.Linear(4 * hidden, hidden))
        self.drop = nn.Dropout(p)

    def forward(self, x, mask):
        x = self.norms["a"](x + self.drop(self.attention(x, mask)))
        return self.norms["f"](x + self.drop(self.ff(x)))


class Tagger(nn.Module):
    def __init__(self, cfg, n_tags):
        super().__init__()
        self.word = nn.Embedding(cfg["vocab"], cfg["hidden"], padding_idx=0)
        self.position = nn.Embedding(cfg["max_len"], cfg["hidden"])
        self.layers = nn.ModuleList([Layer(cfg["hidden"], cfg["heads"]) for _ in range(cfg["layers"])])
        self.out = nn.Linear(cfg["hidden"], n_tags)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            m.weight.data.normal_(0.0, 0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            m.bias.data.zero_()

    def forward(self, ids, mask=None):
        pos = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        x = self.word(ids) + self.position(pos)
        for l in self.layers:
            x = l(x, mask)
        return self.out(x)
