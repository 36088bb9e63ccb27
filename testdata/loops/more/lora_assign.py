"""LoRA by hand: a subclass of nn.Linear assigned to each layer's attributes."""
import argparse

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM


class LoRALinear(nn.Linear):
    def __init__(self, in_features, out_features, r=8, alpha=16, dropout=0.1, bias=False):
        super().__init__(in_features, out_features, bias=bias)
        self.lora_a = nn.Parameter(torch.zeros(r, in_features))
        self.lora_b = nn.Parameter(torch.zeros(out_features, r))
        self.drop = nn.Dropout(dropout)
        self.scale = alpha / r
        self.weight.requires_grad = False

    @classmethod
    def of(cls, linear, **kwargs):
        new = cls(linear.in_features, linear.out_features, bias=linear.bias is not None, **kwargs)
        new.weight.data = linear.weight.data
        if linear.bias is not None:
            new.bias.data = linear.bias.data
            new.bias.requires_grad = False
        return new

    def forward(self, x):
        out = super().forward(x)
        lora = nn.functional.linear(nn.functional.linear(self.drop(x), self.lora_a), self.lora_b)
        return out + self.scale * lora


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--seq-len", type=int, default=256)
    a = p.parse_args()
    cfg = AutoConfig.from_pretrained(a.config)
    model = AutoModelForCausalLM.from_config(cfg).to(torch.bfloat16).cuda()
    model.requires_grad_(False)
    for layer in model.model.layers:
        layer.self_attn.q_proj = LoRALinear.of(layer.self_attn.q_proj).to(device="cuda", dtype=torch.bfloat16)
        layer.self_attn.o_proj = LoRALinear.of(layer.self_attn.o_proj).to(device="cuda", dtype=torch.bfloat16)
        layer.mlp.down_proj = LoRALinear.of(layer.mlp.down_proj, r=16).to(device="cuda", dtype=torch.bfloat16)
    model.train()
    opt = torch.optim.Adam(filter(lambda q: q.requires_grad, model.parameters()), lr=1e-4)
    for i in range(6):
        batch = torch.randint(cfg.vocab_size, (a.batch_size, a.seq_len)).cuda()
        loss = model(input_ids=batch, labels=batch).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(i, loss.item())


main()
