"""Language-model fine-tuning in one class: packed blocks, cosine schedule, validation, best checkpoint on the CPU."""
from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler
from transformers import AutoConfig, AutoModelForCausalLM, get_cosine_schedule_with_warmup


@dataclass
class Settings:
    config: str
    batch_size: int = 4
    block_size: int = 256
    accumulate: int = 2
    steps: int = 8
    lr: float = 3e-5
    amp: bool = True

    @classmethod
    def from_argv(cls, argv):
        pairs = dict(a.removeprefix("--").split("=", 1) for a in argv)
        types = {"batch_size": int, "block_size": int, "accumulate": int, "steps": int, "lr": float, "amp": lambda v: v == "true"}
        return cls(**{k: types.get(k, str)(v) for k, v in pairs.items()})


class Blocks(Dataset):
    def __init__(self, tokens, size):
        self.tokens, self.size = tokens, size

    def __len__(self):
        return len(self.tokens) // self.size

    def __getitem__(self, i):
        return self.tokens[i * self.size:(i + 1) * self.size]


class Finetuner:
    def __init__(self, settings):
        self.s = settings
        self.device = torch.device("cuda")
        self.config = AutoConfig.from_pretrained(settings.config)
        self.model = AutoModelForCausalLM.from_config(self.config).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.lr)
        self.schedule = get_cosine_schedule_with_warmup(self.optimizer, 2, settings.steps)
        self.best = float("inf")

    def loader(self, n):
        tokens = torch.randint(0, self.config.vocab_size, (n * self.s.block_size,))
        data = Blocks(tokens, self.s.block_size)
        return DataLoader(data, sampler=RandomSampler(data), batch_size=self.s.batch_size, drop_last=True)

    def forward(self, ids):
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.s.amp):
            return self.model(input_ids=ids, labels=ids).loss

    def fit(self):
        train, valid = self.loader(self.s.batch_size * self.s.accumulate * 4), self.loader(self.s.batch_size * 2)
        self.model.train()
        for i, ids in enumerate(train, start=1):
            loss = self.forward(ids.to(self.device)) / self.s.accumulate
            loss.backward()
            if i % self.s.accumulate == 0:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.schedule.step()
                self.optimizer.zero_grad(set_to_none=True)
            if i % (2 * self.s.accumulate) == 0:
                self.keep_best(self.validate(valid))

    @torch.inference_mode()
    def validate(self, loader):
        self.model.eval()
        total = sum(self.forward(ids.to(self.device)).item() for ids in loader)
        self.model.train()
        return total / len(loader)

    def keep_best(self, value):
        if value < self.best:
            self.best = value
            weights = {k: v.cpu() for k, v in self.model.state_dict().items()}
            torch.save(weights, Path("best.pt"))


if __name__ == "__main__":
    s = Settings.from_argv(sys.argv[1:])
    print(json.dumps(asdict(s)))
    Finetuner(s).fit()
