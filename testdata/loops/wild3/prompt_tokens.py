"""Soft prompts by hand: trainable vectors before the word embeddings of a frozen language model."""
import argparse
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

p = argparse.ArgumentParser()
p.add_argument("--config")
p.add_argument("--batch-size", type=int, default=4)
p.add_argument("--seq-len", type=int, default=256)
p.add_argument("--n-prompt", type=int, default=20)
a = p.parse_args()

cfg = AutoConfig.from_pretrained(a.config)
lm = AutoModelForCausalLM.from_config(cfg, torch_dtype=torch.bfloat16).cuda()
for param in lm.parameters():
    param.requires_grad_(False)
lm.eval()
prompt = nn.Parameter(torch.randn(a.n_prompt, cfg.hidden_size, device="cuda", dtype=torch.bfloat16) * 0.02)
opt = torch.optim.Adam([prompt], lr=0.3)
embed = lm.get_input_embeddings()

for step in range(6):
    ids = torch.randint(10, cfg.vocab_size, (a.batch_size, a.seq_len), device="cuda")
    words = embed(ids)
    inputs = torch.cat([prompt.unsqueeze(0).expand(a.batch_size, -1, -1), words], dim=1)
    ignore = torch.full((a.batch_size, a.n_prompt), -100, device="cuda")
    labels = torch.cat([ignore, ids], dim=1)
    out = lm(inputs_embeds=inputs, labels=labels)
    opt.zero_grad()
    out.loss.backward()
    opt.step()
    print(step, float(out.loss))
