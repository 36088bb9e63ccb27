"""LoRA by hand on an encoder's classifier, through the parent's _modules, on half of the layers, with a new head."""
import argparse

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification


class Adapter(nn.Module):
    def __init__(self, old, rank):
        super().__init__()
        self.old = old
        self.a = nn.Parameter(torch.randn(old.in_features, rank) * 0.01)
        self.b = nn.Parameter(torch.zeros(rank, old.out_features))

    def forward(self, hidden):
        low = hidden @ self.a
        return self.old(hidden) + low @ self.b


def patch(model, keys, rank):
    modules = dict(model.named_modules())
    for name, module in list(modules.items()):
        if not isinstance(module, nn.Linear):
            continue
        parent, _, child = name.rpartition(".")
        if child in keys:
            modules[parent]._modules[child] = Adapter(module, rank)


parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--seq-len", type=int, default=128)
parser.add_argument("--keys", nargs="+", default=["query", "value", "q_lin", "v_lin"])
args = parser.parse_args()
config = AutoConfig.from_pretrained(args.config, num_labels=5)
net = AutoModelForSequenceClassification.from_config(config)
for name, parameter in net.named_parameters():
    parameter.requires_grad_("classifier" in name)
patch(net, args.keys, 4)
net.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(config.hidden_size, 5))
net.to("cuda").train()
optimizer = torch.optim.AdamW((p for p in net.parameters() if p.requires_grad), lr=3e-4)
scaler = torch.amp.GradScaler("cuda")
for step in range(6):
    x = torch.randint(config.vocab_size, (args.batch_size, args.seq_len), device="cuda")
    y = torch.randint(5, (args.batch_size,), device="cuda")
    optimizer.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.float16):
        loss = net(input_ids=x, labels=y).loss
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, loss.item())
