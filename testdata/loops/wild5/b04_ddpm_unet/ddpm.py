import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"
IMG = 64
BATCH = 32
STEPS = 8
T = 1000


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, temb, drop=0.1):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.temb = nn.Linear(temb, cout)
        self.norm2 = nn.GroupNorm(32, cout)
        self.drop = nn.Dropout(drop)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        nn.init.zeros_(self.conv2.weight)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.temb(F.silu(t))[:, :, None, None]
        h = self.conv2(self.drop(F.silu(self.norm2(h))))
        return h + self.skip(x)


class SelfAttention2d(nn.Module):
    def __init__(self, c, heads=4):
        super().__init__()
        self.norm = nn.GroupNorm(32, c)
        self.qkv = nn.Conv1d(c, c * 3, 1)
        self.out = nn.Conv1d(c, c, 1)
        self.heads = heads

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.norm(x).view(b, c, h * w)
        q, k, v = self.qkv(y).reshape(b * self.heads, 3 * c // self.heads, h * w).chunk(3, dim=1)
        s = 1 / math.sqrt(math.sqrt(c // self.heads))
        w_ = torch.einsum("bct,bcs->bts", q * s, k * s)
        w_ = torch.softmax(w_.float(), dim=-1).type(w_.dtype)
        a = torch.einsum("bts,bcs->bct", w_, v).reshape(b, c, h * w)
        return x + self.out(a).view(b, c, h, w)


class Down(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.op = nn.Conv2d(c, c, 3, stride=2, padding=1)

    def forward(self, x, t=None):
        return self.op(x)


class Up(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.op = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x, t=None):
        return self.op(F.interpolate(x, scale_factor=2, mode="nearest"))


class UNet(nn.Module):
    def __init__(self, ch=128, mult=(1, 2, 3, 4), n_res=2, attn_at=(32, 16, 8), size=64):
        super().__init__()
        td = ch * 4
        self.ch = ch
        self.time = nn.Sequential(nn.Linear(ch, td), nn.SiLU(), nn.Linear(td, td))
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.downs = nn.ModuleList()
        chans = [ch]
        cur, res = ch, size
        for i, m in enumerate(mult):
            for _ in range(n_res):
                mods = nn.ModuleList([ResBlock(cur, ch * m, td)])
                cur = ch * m
                if res in attn_at:
                    mods.append(SelfAttention2d(cur))
                self.downs.append(mods)
                chans.append(cur)
            if i != len(mult) - 1:
                self.downs.append(nn.ModuleList([Down(cur)]))
                chans.append(cur)
                res //= 2
        self.mid = nn.ModuleList([ResBlock(cur, cur, td), SelfAttention2d(cur), ResBlock(cur, cur, td)])
        self.ups = nn.ModuleList()
        for i, m in reversed(list(enumerate(mult))):
            for j in range(n_res + 1):
                mods = nn.ModuleList([ResBlock(cur + chans.pop(), ch * m, td)])
                cur = ch * m
                if res in attn_at:
                    mods.append(SelfAttention2d(cur))
                if i and j == n_res:
                    mods.append(Up(cur))
                    res *= 2
                self.ups.append(mods)
        self.out = nn.Sequential(nn.GroupNorm(32, cur), nn.SiLU(), nn.Conv2d(cur, 3, 3, padding=1))

    @staticmethod
    def _run(mods, h, t):
        for m in mods:
            h = m(h) if isinstance(m, SelfAttention2d) else m(h, t)
        return h

    def forward(self, x, t):
        temb = self.time(timestep_embedding(t, self.ch))
        h = self.inp(x)
        hs = [h]
        for mods in self.downs:
            h = self._run(mods, h, temb)
            hs.append(h)
        h = self._run(self.mid, h, temb)
        for mods in self.ups:
            h = self._run(mods, torch.cat([h, hs.pop()], dim=1), temb)
        return self.out(h)


class EMA:
    def __init__(self, model, decay=0.9999):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)


class GaussianDiffusion:
    def __init__(self, T):
        s = 0.008
        x = torch.linspace(0, T, T + 1, dtype=torch.float64)
        ac = torch.cos(((x / T) + s) / (1 + s) * math.pi * 0.5) ** 2
        ac = ac / ac[0]
        betas = (1 - ac[1:] / ac[:-1]).clamp(0, 0.999)
        self.alpha_bar = torch.cumprod(1 - betas, 0).float().to(device)

    def q_sample(self, x0, t, noise):
        a = self.alpha_bar[t][:, None, None, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def loss(self, model, x0):
        t = torch.randint(0, T, (x0.size(0),), device=x0.device)
        noise = torch.randn_like(x0)
        return F.mse_loss(model(self.q_sample(x0, t, noise), t), noise)

    @torch.no_grad()
    def ddim(self, model, n, steps=5):
        x = torch.randn(n, 3, IMG, IMG, device=device)
        ts = torch.linspace(T - 1, 0, steps, device=device).long()
        for i, t in enumerate(ts):
            a = self.alpha_bar[t]
            eps = model(x, t.expand(n))
            x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-1, 1)
            an = self.alpha_bar[ts[i + 1]] if i + 1 < steps else torch.ones((), device=device)
            x = an.sqrt() * x0 + (1 - an).sqrt() * eps
        return x


torch.manual_seed(7)
model = UNet(size=IMG).to(device)
ema = EMA(model, 0.995)
diff = GaussianDiffusion(T)
optim = torch.optim.Adam(model.parameters(), lr=2e-4)
data = torch.rand(BATCH * 4, 3, IMG, IMG) * 2 - 1
losses = []
for step in range(STEPS):
    idx = torch.randint(0, len(data), (BATCH,))
    x = data[idx].to(device)
    optim.zero_grad()
    loss = diff.loss(model, x)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optim.step()
    ema.update(model)
    losses.append(loss.item())
    print(f"[{step + 1}/{STEPS}] {losses[-1]:.4f}")
samples = diff.ddim(ema.shadow, 16)
print(samples.shape, samples.mean().item())
