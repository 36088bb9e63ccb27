import random
import torch
from transformers import GPT2Config, GPT2LMHeadModel

random.seed(0)
model = GPT2LMHeadModel(GPT2Config()).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(120):
    ids = torch.randint(0, 50257, (4, random.randint(16, 1024)), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 5 == 0:
        print(f"{{'loss': {loss.item():.4f}, 'step': {step}}}")
