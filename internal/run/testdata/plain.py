"""An ordinary training loop: ten steps, exit code 0."""
import sys

import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters())
batch = int(sys.argv[1]) if len(sys.argv) > 1 else 4
for i in range(10):
    for _ in range(2):  # accumulation
        model(torch.randn(batch, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", i + 1)
print("done")
