"""Generates texts with sampling and trains on them, then decodes greedily."""
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=20000, n_embd=256, n_layer=4, n_head=4)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(3):
    model.eval()
    prompts = torch.randint(10, 20000, (16, 32), device="cuda")
    ids = model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=32, min_new_tokens=32, do_sample=True, top_k=0, pad_token_id=0)
    model.train()
    logits = model(ids).logits[:, :-1]
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
