"""A loop with Hugging Face's accelerate."""
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
model, optimizer = accelerator.prepare(model, optimizer)
for i in range(10):
    accelerator.backward(model(torch.randn(2, 4)).sum())
    optimizer.step()
    optimizer.zero_grad()
