import argparse
import random
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class FakePong:
    """84x84x4 uint8 observations, 6 actions."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.t = 0

    def reset(self):
        self.t = 0
        return self.rng.integers(0, 256, (4, 84, 84), dtype=np.uint8)

    def step(self, action):
        self.t += 1
        obs = self.rng.integers(0, 256, (4, 84, 84), dtype=np.uint8)
        reward = float(self.rng.choice([-1, 0, 0, 0, 1]))
        return obs, reward, self.t >= 100


class ReplayBuffer:
    """Frames live on the GPU as uint8."""

    def __init__(self, capacity, obs_shape, device):
        self.capacity = capacity
        self.device = device
        self.states = torch.zeros((capacity, *obs_shape), dtype=torch.uint8, device=device)
        self.next_states = torch.zeros((capacity, *obs_shape), dtype=torch.uint8, device=device)
        self.actions = torch.zeros(capacity, dtype=torch.long, device=device)
        self.rewards = torch.zeros(capacity, device=device)
        self.dones = torch.zeros(capacity, device=device)
        self.pos = 0
        self.size = 0

    def push(self, s, a, r, s2, d):
        i = self.pos
        self.states[i] = torch.from_numpy(s).to(self.device)
        self.next_states[i] = torch.from_numpy(s2).to(self.device)
        self.actions[i] = a
        self.rewards[i] = r
        self.dones[i] = float(d)
        self.pos = (self.pos + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, n):
        idx = torch.randint(0, self.size, (n,), device=self.device)
        return Transition(self.states[idx], self.actions[idx], self.rewards[idx], self.next_states[idx], self.dones[idx])


class DuelingDQN(nn.Module):
    def __init__(self, n_actions):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(4, 32, kernel_size=8, stride=4), nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=4, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, kernel_size=3, stride=1), nn.ReLU(),
        )
        self.value = nn.Sequential(nn.Linear(64 * 7 * 7, 512), nn.ReLU(), nn.Linear(512, 1))
        self.adv = nn.Sequential(nn.Linear(64 * 7 * 7, 512), nn.ReLU(), nn.Linear(512, n_actions))

    def forward(self, x):
        x = x.float() / 255.0
        x = self.features(x).flatten(1)
        v, a = self.value(x), self.adv(x)
        return v + a - a.mean(dim=1, keepdim=True)


class Agent:
    def __init__(self, args, n_actions=6):
        self.args = args
        self.device = torch.device("cuda")
        self.n_actions = n_actions
        self.policy = DuelingDQN(n_actions).to(self.device)
        self.target = DuelingDQN(n_actions).to(self.device)
        self.target.load_state_dict(self.policy.state_dict())
        self.target.eval()
        self.memory = ReplayBuffer(args.buffer_size, (4, 84, 84), self.device)
        self.optim = torch.optim.RMSprop(self.policy.parameters(), lr=args.lr, alpha=0.95, eps=0.01)
        self.eps = 1.0

    def act(self, state):
        if random.random() < self.eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            q = self.policy(torch.from_numpy(state).unsqueeze(0).to(self.device))
            return q.argmax(1).item()

    def learn(self):
        b = self.memory.sample(self.args.batch_size)
        q = self.policy(b.state).gather(1, b.action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = self.policy(b.next_state).argmax(1, keepdim=True)
            nxt = self.target(b.next_state).gather(1, best).squeeze(1)
            y = b.reward + self.args.gamma * nxt * (1 - b.done)
        loss = F.smooth_l1_loss(q, y)
        self.optim.zero_grad()
        loss.backward()
        for p in self.policy.parameters():
            p.grad.data.clamp_(-1, 1)
        self.optim.step()
        for tp, pp in zip(self.target.parameters(), self.policy.parameters()):
            tp.data.copy_(self.args.tau * pp.data + (1.0 - self.args.tau) * tp.data)
        return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--buffer-size", type=int, default=50000)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--num-updates", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--tau", type=float, default=0.005)
    parser.add_argument("--lr", type=float, default=2.5e-4)
    args = parser.parse_args()

    random.seed(0)
    torch.manual_seed(0)
    env, agent = FakePong(), Agent(args)
    state = env.reset()
    total_steps, updates = 0, 0
    while updates < args.num_updates:
        a = agent.act(state)
        nxt, r, done = env.step(a)
        agent.memory.push(state, a, r, nxt, done)
        state = env.reset() if done else nxt
        total_steps += 1
        agent.eps = max(0.05, agent.eps - 1e-3)
        if total_steps > args.warmup and total_steps % 4 == 0:
            loss = agent.learn()
            updates += 1
            if updates % 5 == 0:
                print(f"step {total_steps} update {updates} loss {loss:.5f} eps {agent.eps:.3f}")
