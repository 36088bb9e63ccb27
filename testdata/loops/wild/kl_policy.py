"""REINFORCE with a KL penalty towards a frozen bf16 reference; rollouts are random tokens."""
import argparse

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


def logprobs_from_logits(logits, tokens):
    logp = F.log_softmax(logits, dim=2)
    return torch.gather(logp, 2, tokens.unsqueeze(2)).squeeze(-1)


class PolicyTrainer:
    def __init__(self, config_path, kl_coef=0.05, lr=1e-6):
        self.config = AutoConfig.from_pretrained(config_path)
        self.model = AutoModelForCausalLM.from_config(self.config, dtype=torch.bfloat16).to("cuda")
        self.ref_model = AutoModelForCausalLM.from_config(self.config, dtype=torch.bfloat16).to("cuda")
        self.ref_model.eval()
        self.kl_coef = kl_coef
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def rollout(self, batch_size, seq_len):
        queries = torch.randint(0, self.config.vocab_size, (batch_size, seq_len), device="cuda")
        rewards = torch.randn(batch_size, device="cuda")
        return queries, rewards

    @torch.no_grad()
    def reference_logprobs(self, tokens):
        logits = self.ref_model(tokens).logits[:, :-1]
        return logprobs_from_logits(logits, tokens[:, 1:])

    def step(self, tokens, rewards):
        ref_logp = self.reference_logprobs(tokens)
        logits = self.model(tokens).logits[:, :-1]
        logp = logprobs_from_logits(logits, tokens[:, 1:])
        kl = logp - ref_logp
        advantage = rewards - rewards.mean()
        policy_loss = -(advantage.unsqueeze(1) * logp).mean()
        kl_loss = self.kl_coef * kl.mean()
        loss = policy_loss + kl_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss, "policy": policy_loss, "kl": kl_loss}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=6)
    args = parser.parse_args()
    trainer = PolicyTrainer(args.config)
    for it in range(args.iterations):
        tokens, rewards = trainer.rollout(args.batch_size, args.seq_len)
        stats = trainer.step(tokens, rewards)
        print(it, {k: round(v.item(), 4) for k, v in stats.items()})


if __name__ == "__main__":
    main()
