"""One PPO update: a policy with a value head, a frozen reference, old log-probs from a no-grad pass, minibatches."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


class ActorCritic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.lm = AutoModelForCausalLM.from_config(cfg)
        self.value = nn.Linear(cfg.hidden_size, 1)

    def forward(self, ids):
        out = self.lm(ids, output_hidden_states=True)
        return out.logits, self.value(out.hidden_states[-1]).squeeze(-1)


def logprobs(logits, ids):
    return torch.gather(F.log_softmax(logits[:, :-1], dim=-1), 2, ids[:, 1:, None]).squeeze(-1)


ap = argparse.ArgumentParser()
ap.add_argument("--config")
ap.add_argument("--batch-size", type=int, default=8)
ap.add_argument("--mini-batch", type=int, default=2)
ap.add_argument("--seq-len", type=int, default=128)
args = ap.parse_args()
cfg = AutoConfig.from_pretrained(args.config)
actor = ActorCritic(cfg).cuda()
ref = copy.deepcopy(actor).eval().requires_grad_(False)
opt = torch.optim.Adam(actor.parameters(), lr=1e-6)

for rollout in range(2):
    ids = torch.randint(0, cfg.vocab_size, (args.batch_size, args.seq_len), device="cuda")
    with torch.no_grad():
        logits, values = actor(ids)
        old = logprobs(logits, ids)
        ref_logits, _ = ref(ids)
        kl = old - logprobs(ref_logits, ids)
        rewards = -0.1 * kl
        returns = torch.flip(torch.cumsum(torch.flip(rewards, [1]), 1), [1])
        adv = returns - values[:, :-1]
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(2):
        for i in range(0, args.batch_size, args.mini_batch):
            mb = slice(i, i + args.mini_batch)
            logits, values = actor(ids[mb])
            ratio = torch.exp(logprobs(logits, ids[mb]) - old[mb])
            pg = -torch.min(ratio * adv[mb], ratio.clamp(0.8, 1.2) * adv[mb]).mean()
            vf = F.mse_loss(values[:, :-1], returns[mb])
            loss = pg + 0.1 * vf
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
            opt.step()
print("done")
