"""Sequence classification where every prediction goes to the CPU, and early stopping restores a saved state."""
import argparse
import copy

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification


class EarlyStopping:
    def __init__(self, patience=2):
        self.patience, self.best, self.count, self.state = patience, None, 0, None

    def step(self, value, model):
        if self.best is None or value < self.best:
            self.best, self.count = value, 0
            self.state = copy.deepcopy(model.state_dict())
            return False
        self.count += 1
        return self.count >= self.patience


def epoch(model, data, device, optimizer=None):
    training = optimizer is not None
    model.train(training)
    preds, golds, total = [], [], 0.0
    for ids, labels in data:
        ids, labels = ids.to(device), labels.to(device)
        with torch.set_grad_enabled(training):
            output = model(ids, labels=labels)
            if training:
                optimizer.zero_grad()
                output.loss.backward()
                optimizer.step()
        preds.append(output.logits.detach().cpu())
        golds.append(labels.cpu())
        total += output.loss.item() * len(ids)
    accuracy = (torch.cat(preds).argmax(-1) == torch.cat(golds)).float().mean()
    return total / sum(len(i) for i, _ in data), accuracy


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--labels", type=int, default=2)
    a = ap.parse_args()
    cfg = AutoConfig.from_pretrained(a.config, num_labels=a.labels)
    device = "cuda"
    model = AutoModelForSequenceClassification.from_config(cfg).to(device)
    batch = lambda: (torch.randint(0, cfg.vocab_size, (a.batch_size, a.seq_len)), torch.randint(0, a.labels, (a.batch_size,)))
    train, valid = [batch() for _ in range(4)], [batch() for _ in range(2)]
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-5)
    stop = EarlyStopping()
    for _ in range(3):
        epoch(model, train, device, optimizer)
        loss, acc = epoch(model, valid, device)
        if stop.step(loss, model):
            break
    model.load_state_dict(stop.state)


main()
