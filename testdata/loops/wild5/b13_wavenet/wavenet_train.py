import json
import math
import sys
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm


def load_hp(path):
    return json.load(open(path), object_hook=lambda d: SimpleNamespace(**d))


def mulaw_encode(x, mu=256):
    m = mu - 1
    y = torch.sign(x) * torch.log1p(m * x.abs()) / math.log1p(m)
    return ((y + 1) / 2 * m + 0.5).long().clamp(0, m)


class CausalConv1d(nn.Module):
    def __init__(self, i, o, k, d):
        super().__init__()
        self.pad = (k - 1) * d
        self.conv = weight_norm(nn.Conv1d(i, o, k, dilation=d))

    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))


class GLUBlock(nn.Module):
    def __init__(self, res, gate, skip, cond, k, d):
        super().__init__()
        self.conv = CausalConv1d(res, gate, k, d)
        self.cond = weight_norm(nn.Conv1d(cond, gate, 1, bias=False))
        self.res = weight_norm(nn.Conv1d(gate // 2, res, 1))
        self.skip = weight_norm(nn.Conv1d(gate // 2, skip, 1))

    def forward(self, x, c):
        h = self.conv(x) + self.cond(c)
        a, b = h.chunk(2, 1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return (x + self.res(h)) * math.sqrt(0.5), self.skip(h)


class Upsampler(nn.Module):
    def __init__(self, scales):
        super().__init__()
        self.convs = nn.ModuleList()
        for s in scales:
            self.convs.append(nn.ConvTranspose2d(1, 1, (3, 2 * s), stride=(1, s), padding=(1, s // 2 + s % 2)
                                                 , output_padding=(0, s % 2)))

    def forward(self, c):
        c = c.unsqueeze(1)
        for conv in self.convs:
            c = F.leaky_relu(conv(c), 0.4)
        return c.squeeze(1)


class WaveNet(nn.Module):
    def __init__(self, net, mu):
        super().__init__()
        self.first = weight_norm(nn.Conv1d(mu, net.res, 1))
        self.up = Upsampler([4, 5, 10])
        self.blocks = nn.ModuleList()
        for _ in range(net.stacks):
            for l in range(net.layers):
                self.blocks.append(GLUBlock(net.res, net.gate, net.skip, net.cond, 2, 2 ** l))
        self.last = nn.Sequential(nn.ReLU(), weight_norm(nn.Conv1d(net.skip, net.skip, 1)), nn.ReLU(),
                                  weight_norm(nn.Conv1d(net.skip, mu, 1)))
        self.mu = mu

    def forward(self, x, mel):
        c = self.up(mel)[:, :, :x.size(1)]
        h = F.one_hot(x, self.mu).float().transpose(1, 2)
        h = self.first(h)
        skips = 0
        for blk in self.blocks:
            h, s = blk(h, c)
            skips = skips + s
        skips = skips * math.sqrt(1.0 / len(self.blocks))
        return self.last(skips)


class ExponentialMovingAverage:
    def __init__(self, decay):
        self.decay, self.shadow = decay, {}

    def register(self, model):
        for n, p in model.named_parameters():
            if p.requires_grad:
                self.shadow[n] = p.data.clone()

    def update(self, model):
        for n, p in model.named_parameters():
            if n in self.shadow:
                self.shadow[n] -= (1.0 - self.decay) * (self.shadow[n] - p.data)


def make_batch(hp, dev):
    B, L = hp.train.batch, hp.audio.segment
    t = torch.arange(L, device=dev) / hp.audio.sr
    f0 = 80 + 300 * torch.rand(B, 1, device=dev)
    wav = 0.5 * torch.sin(2 * math.pi * f0 * t) + 0.1 * torch.randn(B, L, device=dev)
    mel = torch.randn(B, hp.net.cond, L // hp.net.hop, device=dev)
    return mulaw_encode(wav.clamp(-1, 1), hp.audio.mu), mel


if __name__ == "__main__":
    hp = load_hp(sys.argv[1] if len(sys.argv) > 1 else "hparams.json")
    dev = torch.device("cuda")
    torch.manual_seed(0)
    model = WaveNet(hp.net, hp.audio.mu).to(dev)
    ema = ExponentialMovingAverage(hp.train.ema)
    ema.register(model)
    opt = torch.optim.Adam(model.parameters(), lr=hp.train.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.98)
    running = torch.zeros((), device=dev)
    for it in range(hp.train.iters):
        x, mel = make_batch(hp, dev)
        y_hat = model(x[:, :-1], mel)
        loss = F.cross_entropy(y_hat, x[:, 1:])
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(model.parameters(), hp.train.clip)
        opt.step()
        sched.step()
        ema.update(model)
        running += loss.detach()
        print(f"iter {it + 1} | loss {running.item() / (it + 1):.4f} | gnorm {gn:.3f}")
