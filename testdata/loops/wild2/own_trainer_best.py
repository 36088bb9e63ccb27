"""Sequence classification with a home-made Trainer; keeps the best weights in memory."""
import argparse
import copy
import logging

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from transformers import AutoConfig, AutoModelForSequenceClassification

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger(__name__)


class Trainer:
    def __init__(self, model, optimizer, criterion, train_loader, val_loader, device):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.criterion = criterion
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.device = device
        self.best_loss = float("inf")
        self.best_state = None
        self.history = {"train": [], "val": []}

    def _forward(self, batch):
        ids, mask, y = (t.to(self.device) for t in batch)
        logits = self.model(input_ids=ids, attention_mask=mask).logits
        return logits, self.criterion(logits, y), y

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for batch in self.train_loader:
            self.optimizer.zero_grad(set_to_none=True)
            _, loss, y = self._forward(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=5.0)
            self.optimizer.step()
            total += loss.item() * y.size(0)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total, correct = 0.0, 0
        for batch in self.val_loader:
            logits, loss, y = self._forward(batch)
            total += loss.item() * y.size(0)
            correct += (logits.argmax(-1) == y).sum().item()
        n = len(self.val_loader.dataset)
        return total / n, correct / n

    def fit(self, epochs):
        for epoch in range(epochs):
            tr = self.train_epoch()
            va, acc = self.evaluate()
            self.history["train"].append(tr)
            self.history["val"].append(va)
            if self.best_state is None or va < self.best_loss:
                self.best_loss = va
                self.best_state = copy.deepcopy(self.model.state_dict())
            log.info("epoch %d train %.4f val %.4f acc %.3f", epoch, tr, va, acc)
        self.model.load_state_dict(self.best_state)


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--num-labels", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=3)
    return ap.parse_args()


def main():
    args = parse()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cfg = AutoConfig.from_pretrained(args.config, num_labels=args.num_labels)
    model = AutoModelForSequenceClassification.from_config(cfg)
    n = 5 * args.batch_size
    ids = torch.randint(5, cfg.vocab_size, (n, args.seq_len))
    data = TensorDataset(ids, torch.ones_like(ids), torch.randint(0, args.num_labels, (n,)))
    train, val = random_split(data, [4 * args.batch_size, args.batch_size])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-5)
    trainer = Trainer(model, optimizer, nn.CrossEntropyLoss(),
                      DataLoader(train, args.batch_size, shuffle=True),
                      DataLoader(val, args.batch_size), device)
    trainer.fit(args.epochs)


if __name__ == "__main__":
    main()
