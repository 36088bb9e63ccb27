import argparse
import math
from dataclasses import dataclass, field

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import Adafactor, AutoConfig, AutoModelForSeq2SeqLM


@dataclass
class Settings:
    config: str
    batch_size: int = 16
    seq_len: int = 256
    target_len: int = 128
    epochs: int = 2
    batches: int = 4
    max_norm: float = 1.0
    device: torch.device = field(default_factory=lambda: torch.device("cuda"))


class TranslationPairs(Dataset):
    def __init__(self, s: Settings, vocab: int):
        n = s.batch_size * s.batches
        self.source = torch.randint(3, vocab, (n, s.seq_len))
        self.target = torch.randint(3, vocab, (n, s.target_len))

    def __len__(self):
        return len(self.source)

    def __getitem__(self, i):
        return {"input_ids": self.source[i], "attention_mask": torch.ones_like(self.source[i]), "labels": self.target[i]}


class Seq2SeqTrainer:
    def __init__(self, settings: Settings):
        self.s = settings
        config = AutoConfig.from_pretrained(settings.config)
        self.model = AutoModelForSeq2SeqLM.from_config(config).to(settings.device)
        self.train_loader = DataLoader(TranslationPairs(settings, config.vocab_size), batch_size=settings.batch_size, shuffle=True)
        self.valid_loader = DataLoader(TranslationPairs(settings, config.vocab_size), batch_size=2 * settings.batch_size)
        self.optimizer = Adafactor(self.model.parameters(), lr=1e-3, scale_parameter=False, relative_step=False)

    def _to_device(self, batch):
        return {k: v.to(self.s.device) for k, v in batch.items()}

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for batch in self.train_loader:
            batch = self._to_device(batch)
            loss = self.model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.s.max_norm)
            self.optimizer.step()
            self.optimizer.zero_grad()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = 0.0
        for batch in self.valid_loader:
            total += self.model(**self._to_device(batch)).loss.item()
        return math.exp(min(20.0, total / len(self.valid_loader)))

    def run(self):
        best = float("inf")
        for epoch in range(1, self.s.epochs + 1):
            train_loss = self.train_epoch()
            ppl = self.validate()
            best = min(best, ppl)
            print(f"epoch {epoch}  train {train_loss:.3f}  ppl {ppl:.1f}  best {best:.1f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--seq-len", type=int, default=256)
    a = ap.parse_args()
    Seq2SeqTrainer(Settings(a.config, a.batch_size, a.seq_len)).run()
