"""Tiny PPO over tokens: rollout with generate(), then several inner epochs on the same rollout."""
import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM


@dataclass
class PPOConfig:
    rollout_bs: int = 32
    mini_bs: int = 8
    prompt_len: int = 64
    gen_len: int = 64
    ppo_epochs: int = 2
    iterations: int = 2
    lr: float = 1e-6
    kl_coef: float = 0.05
    clip: float = 0.2
    vf_coef: float = 0.1
    ent_coef: float = 0.01
    gamma: float = 1.0
    lam: float = 0.95


class ActorCritic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.lm = GPTNeoXForCausalLM(cfg)
        self.value = nn.Sequential(nn.Linear(cfg.hidden_size, cfg.hidden_size), nn.ReLU(), nn.Linear(cfg.hidden_size, 1))

    def forward(self, ids):
        out = self.lm(input_ids=ids, output_hidden_states=True, use_cache=False)
        return out.logits, self.value(out.hidden_states[-1].float()).squeeze(-1)


def logprobs_of(logits, ids):
    lp = F.log_softmax(logits[:, :-1].float(), dim=-1)
    return lp.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)


def gae(rewards, values, gamma, lam):
    adv = torch.zeros_like(rewards)
    last = 0
    T = rewards.size(1)
    for t in reversed(range(T)):
        nxt = values[:, t + 1] if t < T - 1 else 0.0
        delta = rewards[:, t] + gamma * nxt - values[:, t]
        last = delta + gamma * lam * last
        adv[:, t] = last
    return adv, adv + values


def reward_fn(ids, start):
    return (ids[:, start:] % 2 == 0).float().mean(1)


@torch.no_grad()
def rollout(policy, ref, c, vocab):
    prompts = torch.randint(10, vocab, (c.rollout_bs, c.prompt_len), device="cuda")
    policy.eval()
    ids = policy.lm.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=c.gen_len,
                             min_new_tokens=c.gen_len, do_sample=True, top_k=0, pad_token_id=0, use_cache=True)
    old_lp, ref_lp, values = [], [], []
    for chunk in ids.split(c.mini_bs):
        logits, v = policy(chunk)
        old_lp.append(logprobs_of(logits, chunk))
        values.append(v[:, :-1])
        ref_lp.append(logprobs_of(ref(input_ids=chunk).logits, chunk))
    old_lp, ref_lp, values = torch.cat(old_lp), torch.cat(ref_lp), torch.cat(values)
    s = c.prompt_len - 1
    old_lp, ref_lp, values = old_lp[:, s:], ref_lp[:, s:], values[:, s:]
    rewards = -c.kl_coef * (old_lp - ref_lp)
    score = reward_fn(ids, c.prompt_len)
    rewards[:, -1] += score
    adv, ret = gae(rewards, values, c.gamma, c.lam)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    policy.train()
    return dict(ids=ids, old_lp=old_lp, adv=adv, ret=ret, score=score)


def main():
    c = PPOConfig()
    torch.manual_seed(0)
    cfg = GPTNeoXConfig(vocab_size=50304, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                        intermediate_size=3072, max_position_embeddings=1024, bos_token_id=0, eos_token_id=0)
    policy = ActorCritic(cfg).cuda()
    ref = copy.deepcopy(policy.lm).to(torch.bfloat16).eval().requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=c.lr, eps=1e-5)
    s = c.prompt_len - 1
    for it in range(c.iterations):
        buf = rollout(policy, ref, c, cfg.vocab_size)
        stats = []
        for _ in range(c.ppo_epochs):
            for idx in torch.randperm(c.rollout_bs, device="cuda").split(c.mini_bs):
                ids = buf["ids"][idx]
                logits, v = policy(ids)
                lp = logprobs_of(logits, ids)[:, s:]
                v = v[:, s:-1]
                ratio = (lp - buf["old_lp"][idx]).exp()
                adv = buf["adv"][idx]
                pg = torch.max(-adv * ratio, -adv * ratio.clamp(1 - c.clip, 1 + c.clip)).mean()
                vf = 0.5 * (v - buf["ret"][idx]).pow(2).mean()
                p = F.softmax(logits[:, s:-1].float(), dim=-1)
                ent = -(p * torch.log(p + 1e-9)).sum(-1).mean()
                loss = pg + c.vf_coef * vf - c.ent_coef * ent
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
                opt.step()
                stats.append((pg.item(), vf.item(), ent.item()))
        print(it, "score", buf["score"].mean().item(), "pg/vf/ent", [sum(x) / len(x) for x in zip(*stats)])


if __name__ == "__main__":
    main()
