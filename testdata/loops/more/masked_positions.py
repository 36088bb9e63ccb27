"""A masked language model whose head is applied only to the masked positions."""
import argparse

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--seq-len", type=int, default=256)
parser.add_argument("--prob", type=float, default=0.15)
args = parser.parse_args()

config = AutoConfig.from_pretrained(args.config)
encoder = AutoModel.from_config(config).cuda()
head = nn.Linear(config.hidden_size, config.vocab_size).cuda()
params = list(encoder.parameters()) + list(head.parameters())
optimizer = torch.optim.AdamW(params, lr=5e-5)


def mask_tokens(inputs):
    labels = inputs.clone()
    masked = torch.bernoulli(torch.full(labels.shape, args.prob, device=inputs.device)).bool()
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8, device=inputs.device)).bool() & masked
    inputs[replaced] = 3
    return inputs, labels


encoder.train()
for step in range(6):
    ids = torch.randint(5, config.vocab_size, (args.batch_size, args.seq_len), device="cuda")
    ids, labels = mask_tokens(ids)
    hidden = encoder(ids).last_hidden_state
    chosen = labels != -100
    logits = head(hidden[chosen])
    loss = nn.functional.cross_entropy(logits, labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), chosen.float().mean().item())
