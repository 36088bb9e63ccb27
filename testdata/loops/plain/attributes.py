import argparse

import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


class Trainer:
    def __init__(self, model, loader, lr):
        self.model = model.to("cuda")
        self.loader = loader
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def training_step(self, batch):
        ids = batch.to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.outputs = self.model(input_ids=ids, labels=ids)
            self.loss = self.outputs.loss
        self.loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return self.loss.item()

    def fit(self):
        self.model.train()
        total = 0.0
        for batch in self.loader:
            total += self.training_step(batch)
        return total / len(self.loader)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    config = AutoConfig.from_pretrained(args.config)
    texts = torch.randint(0, config.vocab_size, (args.batch_size * args.steps, args.seq_len))
    trainer = Trainer(AutoModelForCausalLM.from_config(config), DataLoader(texts, batch_size=args.batch_size), lr=1e-4)
    print(trainer.fit())
