"""A learned prompt before a frozen model."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel


class SoftPrompt(nn.Module):
    def __init__(self, embeddings, tokens):
        super().__init__()
        self.prompt = nn.Parameter(embeddings.weight[:tokens].clone().detach())
        self.mlp = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))

    def forward(self, embedded):
        p = (self.prompt + self.mlp(self.prompt)).unsqueeze(0).expand(embedded.size(0), -1, -1)
        return torch.cat([p, embedded], dim=1)


p = argparse.ArgumentParser()
p.add_argument("--bsz", type=int, default=4)
p.add_argument("--len", type=int, default=200, dest="seqlen")
a = p.parse_args()
model = GPT2LMHeadModel(GPT2Config(vocab_size=20000, n_embd=256, n_layer=4, n_head=4)).cuda()
model.requires_grad_(False)
model.eval()
embeddings = model.get_input_embeddings()
soft = SoftPrompt(embeddings, 56).cuda()
optimizer = torch.optim.SGD(soft.parameters(), lr=0.3, momentum=0.9)
for step in range(4):
    ids = torch.randint(0, 20000, (a.bsz, a.seqlen), device="cuda")
    logits = model(inputs_embeds=soft(embeddings(ids))).logits[:, 56:-1]
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
