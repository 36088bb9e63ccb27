"""Fine-tunes a classifier and watches activation statistics with forward hooks."""
import argparse

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification


class ActivationRecorder:
    def __init__(self, model, kind=nn.LayerNorm):
        self.store = {}
        self.handles = []
        for name, module in model.named_modules():
            if isinstance(module, kind):
                self.handles.append(module.register_forward_hook(self._make(name)))

    def _make(self, name):
        def hook(module, inputs, output):
            self.store[name] = output.detach().clone()
        return hook

    def summary(self):
        return {k: (v.mean().item(), v.std().item()) for k, v in self.store.items()}

    def close(self):
        for h in self.handles:
            h.remove()
        self.store = {}


parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--seq-len", type=int, default=128)
parser.add_argument("--watch-steps", type=int, default=4, help="remove the hooks after so many steps")
args = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
config = AutoConfig.from_pretrained(args.config, num_labels=2)
model = AutoModelForSequenceClassification.from_config(config).to(device)
recorder = ActivationRecorder(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

for step in range(7):
    ids = torch.randint(config.vocab_size, (args.batch_size, args.seq_len), device=device)
    labels = torch.randint(2, (args.batch_size,), device=device)
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step < args.watch_steps:
        stats = recorder.summary()
        last = list(stats)[-1] if stats else None
        print(step, len(stats), last, stats.get(last))
    if step == args.watch_steps:
        recorder.close()
