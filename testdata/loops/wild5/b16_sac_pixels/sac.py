import copy
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class PointEnv:
    """frame-stacked pixel point-mass"""

    def __init__(self, size=84, stack=3, seed=0):
        self.size, self.stack = size, stack
        self.rng = np.random.default_rng(seed)
        self.frames = deque(maxlen=stack)
        self.act_dim = 6

    def _render(self):
        f = np.zeros((3, self.size, self.size), np.uint8)
        x, y = (self.pos * (self.size - 8)).astype(int)
        f[0, y:y + 8, x:x + 8] = 255
        gx, gy = (self.goal * (self.size - 8)).astype(int)
        f[1, gy:gy + 8, gx:gx + 8] = 255
        return f

    def reset(self):
        self.pos, self.goal, self.t = self.rng.random(2), self.rng.random(2), 0
        for _ in range(self.stack):
            self.frames.append(self._render())
        return np.concatenate(self.frames)

    def step(self, a):
        self.pos = np.clip(self.pos + 0.05 * a[:2], 0, 1)
        self.frames.append(self._render())
        self.t += 1
        r = -np.abs(self.pos - self.goal).sum()
        return np.concatenate(self.frames), r, self.t >= 50


class ReplayBuffer:
    def __init__(self, obs_shape, act_dim, capacity, device):
        self.device = device
        self.obs = torch.empty((capacity, *obs_shape), dtype=torch.uint8, device=device)
        self.next_obs = torch.empty((capacity, *obs_shape), dtype=torch.uint8, device=device)
        self.act = torch.empty((capacity, act_dim), device=device)
        self.rew = torch.empty((capacity, 1), device=device)
        self.not_done = torch.empty((capacity, 1), device=device)
        self.capacity, self.idx, self.full = capacity, 0, False

    def add(self, o, a, r, no, d):
        self.obs[self.idx] = torch.from_numpy(o).to(self.device)
        self.next_obs[self.idx] = torch.from_numpy(no).to(self.device)
        self.act[self.idx] = torch.as_tensor(a, device=self.device)
        self.rew[self.idx] = float(r)
        self.not_done[self.idx] = float(not d)
        self.idx = (self.idx + 1) % self.capacity
        self.full = self.full or self.idx == 0

    def sample(self, n):
        i = torch.randint(0, self.capacity if self.full else self.idx, (n,), device=self.device)
        return random_shift(self.obs[i].float()), self.act[i], self.rew[i], random_shift(self.next_obs[i].float()), \
            self.not_done[i]


def random_shift(x, pad=4):
    n, c, h, w = x.size()
    x = F.pad(x, (pad,) * 4, "replicate")
    eps = 1.0 / (h + 2 * pad)
    ar = torch.linspace(-1.0 + eps, 1.0 - eps, h + 2 * pad, device=x.device)[:h]
    ar = ar.unsqueeze(0).repeat(h, 1).unsqueeze(2)
    base = torch.cat([ar, ar.transpose(1, 0)], dim=2).unsqueeze(0).repeat(n, 1, 1, 1)
    shift = torch.randint(0, 2 * pad + 1, size=(n, 1, 1, 2), device=x.device, dtype=x.dtype)
    return F.grid_sample(x, base + shift * 2.0 / (h + 2 * pad), padding_mode="zeros", align_corners=False)


class PixelEncoder(nn.Module):
    def __init__(self, c, feat=50, nf=32):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(c, nf, 3, 2)] + [nn.Conv2d(nf, nf, 3, 1) for _ in range(3)])
        self.fc = nn.Linear(nf * 35 * 35, feat)
        self.ln = nn.LayerNorm(feat)

    def forward(self, x, detach=False):
        h = x / 255.0 - 0.5
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.reshape(h.size(0), -1)
        if detach:
            h = h.detach()
        return torch.tanh(self.ln(self.fc(h)))


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Actor(nn.Module):
    def __init__(self, c, act, hid=1024):
        super().__init__()
        self.encoder = PixelEncoder(c)
        self.trunk = mlp(50, hid, 2 * act)

    def forward(self, obs, detach_encoder=False):
        mu, log_std = self.trunk(self.encoder(obs, detach_encoder)).chunk(2, dim=-1)
        log_std = torch.tanh(log_std)
        log_std = -10 + 0.5 * 12 * (log_std + 1)
        noise = torch.randn_like(mu)
        pi = mu + noise * log_std.exp()
        logp = (-0.5 * noise.pow(2) - log_std).sum(-1, keepdim=True) - 0.5 * np.log(2 * np.pi) * mu.size(-1)
        mu, pi = torch.tanh(mu), torch.tanh(pi)
        logp = logp - torch.log(F.relu(1 - pi.pow(2)) + 1e-6).sum(-1, keepdim=True)
        return mu, pi, logp


class Critic(nn.Module):
    def __init__(self, c, act, hid=1024):
        super().__init__()
        self.encoder = PixelEncoder(c)
        self.q1, self.q2 = mlp(50 + act, hid, 1), mlp(50 + act, hid, 1)

    def forward(self, obs, a, detach_encoder=False):
        z = torch.cat([self.encoder(obs, detach_encoder), a], -1)
        return self.q1(z), self.q2(z)


class SacAgent:
    def __init__(self, c, act, device, gamma=0.99, tau=0.01):
        self.actor = Actor(c, act).to(device)
        self.critic = Critic(c, act).to(device)
        self.target = copy.deepcopy(self.critic)
        for a, b in zip(self.actor.encoder.convs, self.critic.encoder.convs):
            a.weight, a.bias = b.weight, b.bias
        self.log_alpha = torch.tensor(np.log(0.1), dtype=torch.float32, device=device, requires_grad=True)
        self.target_entropy = -act
        self.pi_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3, betas=(0.9, 0.999))
        self.q_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.a_opt = torch.optim.Adam([self.log_alpha], lr=1e-4, betas=(0.5, 0.999))
        self.gamma, self.tau = gamma, tau

    @torch.no_grad()
    def act(self, obs):
        o = torch.from_numpy(obs).cuda().float().unsqueeze(0)
        return self.actor(o)[1][0].cpu().numpy()

    def update(self, buf, bs, step):
        o, a, r, no, nd = buf.sample(bs)
        with torch.no_grad():
            _, pi, logp = self.actor(no)
            t1, t2 = self.target(no, pi)
            tq = r + nd * self.gamma * (torch.min(t1, t2) - self.log_alpha.exp() * logp)
        q1, q2 = self.critic(o, a)
        ql = F.mse_loss(q1, tq) + F.mse_loss(q2, tq)
        self.q_opt.zero_grad()
        ql.backward()
        self.q_opt.step()
        if step % 2 == 0:
            _, pi, logp = self.actor(o, detach_encoder=True)
            q1, q2 = self.critic(o, pi, detach_encoder=True)
            pl = (self.log_alpha.exp().detach() * logp - torch.min(q1, q2)).mean()
            self.pi_opt.zero_grad()
            pl.backward()
            self.pi_opt.step()
            self.a_opt.zero_grad()
            (self.log_alpha.exp() * (-logp - self.target_entropy).detach()).mean().backward()
            self.a_opt.step()
            with torch.no_grad():
                for p, tp in zip(self.critic.parameters(), self.target.parameters()):
                    tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)
        return ql.item()


if __name__ == "__main__":
    import argparse
    ap = argparse.ArgumentParser()
    ap.add_argument("--capacity", type=int, default=30000)
    ap.add_argument("--batch_size", type=int, default=512)
    ap.add_argument("--init_steps", type=int, default=60)
    ap.add_argument("--updates", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(0)
    env = PointEnv()
    obs = env.reset()
    device = torch.device("cuda")
    buf = ReplayBuffer(obs.shape, env.act_dim, args.capacity, device)
    agent = SacAgent(obs.shape[0], env.act_dim, device)
    for step in range(args.init_steps + args.updates):
        if step < args.init_steps:
            a = env.rng.uniform(-1, 1, env.act_dim).astype(np.float32)
        else:
            a = agent.act(obs)
        nobs, r, done = env.step(a)
        buf.add(obs, a, r, nobs, done)
        obs = env.reset() if done else nobs
        if step >= args.init_steps:
            print(step, "critic loss", agent.update(buf, args.batch_size, step))
