import argparse
import math

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 16, alpha: int = 32, dropout: float = 0.05):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad = False
        if self.base.bias is not None:
            self.base.bias.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + (self.dropout(x) @ self.lora_A.t() @ self.lora_B.t()) * self.scaling


def inject(model, targets=("q_proj", "v_proj"), **kwargs):
    for param in model.parameters():
        param.requires_grad_(False)
    wanted = [(n, m) for n, m in model.named_modules() if n.split(".")[-1] in targets and isinstance(m, nn.Linear)]
    for name, module in wanted:
        parent_name, child_name = name.rsplit(".", 1)
        setattr(model.get_submodule(parent_name), child_name, LoRALinear(module, **kwargs))
    return len(wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    print("adapted layers:", inject(model, r=args.rank))
    model.to("cuda")
    lora_params = [p for p in model.parameters() if p.requires_grad]
    print("trainable:", sum(p.numel() for p in lora_params), "of", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.AdamW(lora_params, lr=2e-4)

    model.train()
    for step in range(args.steps):
        input_ids = torch.randint(0, config.vocab_size, (args.batch_size, args.seq_len), device="cuda")
        labels = input_ids.clone()
        labels[:, : args.seq_len // 4] = -100
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=input_ids, labels=labels).loss
        loss.backward()
        nn.utils.clip_grad_norm_(lora_params, 0.3)
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())


if __name__ == "__main__":
    main()
