"""REINFORCE on a language model: log-probabilities of given answers weighted by rewards, with a moving baseline."""
import argparse

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def answer_logprobs(model, ids, prompt_len):
    logits = model(ids).logits[:, :-1]
    logp = torch.log_softmax(logits, dim=-1)
    token_logp = logp.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return token_logp[:, prompt_len - 1:].sum(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    args = parser.parse_args()
    config = AutoConfig.from_pretrained(args.config)
    policy = AutoModelForCausalLM.from_config(config).to("cuda")
    policy.config.use_cache = False
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    baseline = 0.0
    for step in range(4):
        ids = torch.randint(0, config.vocab_size, (args.batch_size, args.seq_len), device="cuda")
        rewards = torch.rand(args.batch_size, device="cuda")
        logp = answer_logprobs(policy, ids, args.seq_len // 2)
        baseline = 0.9 * baseline + 0.1 * rewards.mean().item()
        loss = -((rewards - baseline) * logp).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(step, loss.item(), rewards.mean().item())


if __name__ == "__main__":
    main()
