"""LoRA by hand: every Linear under the named ones is replaced while walking the children."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


class LoraLayer(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear
        self.down = nn.Linear(linear.in_features, rank, bias=False)
        self.up = nn.Linear(rank, linear.out_features, bias=False)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank

    def forward(self, x):
        return self.linear(x) + self.up(self.down(x)) * self.scale


def replace_linear(module, rank, alpha, skip=("lm_head",)):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and name not in skip:
            setattr(module, name, LoraLayer(child, rank, alpha))
        else:
            replace_linear(child, rank, alpha, skip)


parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--seq-len", type=int, default=256)
parser.add_argument("--rank", type=int, default=8)
parser.add_argument("--ckpt", action="store_true")
args = parser.parse_args()

config = AutoConfig.from_pretrained(args.config)
model = AutoModelForCausalLM.from_config(config)
for p in model.parameters():
    p.requires_grad = False
replace_linear(model, args.rank, 16)
model = model.to("cuda")
if args.ckpt:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.train()
trainable = [p for n, p in model.named_parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-4)
for step in range(6):
    ids = torch.randint(0, config.vocab_size, (args.batch_size, args.seq_len), device="cuda")
    logits = model(ids).logits
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, config.vocab_size), ids[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
