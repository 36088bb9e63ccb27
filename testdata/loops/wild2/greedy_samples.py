"""Char-level toy flavour: trains an LM and prints greedy continuations every few steps."""
import argparse
import torch
from transformers import AutoConfig, AutoModelForCausalLM

CFG = dict(lr=3e-4, wd=0.1, steps=6, sample_every=3, sample_tokens=12)


class LMRunner:
    def __init__(self, path, batch_size, seq_len, prompts):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.config = AutoConfig.from_pretrained(path)
        self.model = AutoModelForCausalLM.from_config(self.config).to(self.device)
        self.batch_size, self.seq_len, self.prompts = batch_size, seq_len, prompts
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=CFG["lr"], weight_decay=CFG["wd"], foreach=True)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2, gamma=0.5)

    @property
    def batch(self):
        return torch.randint(self.config.vocab_size, (self.batch_size, self.seq_len), device=self.device)

    def train_step(self):
        self.model.train()
        ids = self.batch
        out = self.model(input_ids=ids, labels=ids, use_cache=False)
        self.optimizer.zero_grad()
        out.loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return out.loss.item()

    @torch.no_grad()
    def sample(self, n_tokens):
        self.model.eval()
        ids = self.batch[: self.prompts, : self.seq_len // 2]
        for _ in range(n_tokens):
            logits = self.model(ids, use_cache=False).logits[:, -1, :]
            nxt = logits.argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, nxt], dim=1)
        return ids[:, -n_tokens:].tolist()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--prompts", type=int, default=2)
    args = ap.parse_args()
    runner = LMRunner(args.config, args.batch_size, args.seq_len, args.prompts)
    for step in range(1, CFG["steps"] + 1):
        loss = runner.train_step()
        print(step, loss)
        if step % CFG["sample_every"] == 0:
            for row in runner.sample(CFG["sample_tokens"]):
                print("   ", row)


main()
