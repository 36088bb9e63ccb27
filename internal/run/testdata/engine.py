"""A loop with DeepSpeed's engine."""
import torch
from deepspeed.runtime.engine import DeepSpeedEngine

a, b = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
engine = DeepSpeedEngine(torch.optim.SGD([{"params": [a]}, {"params": [b]}], lr=0.1), accumulation=2)
for i in range(20):
    (a + b).sum().backward()
    engine.step()
    print("micro step", i + 1)
