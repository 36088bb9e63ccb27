"""Saves a run after a few steps and goes on with what is loaded; the optimizer has two groups."""
import os
import sys
import tempfile

import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 1e-4}]
name = sys.argv[1]
if name == "sgd":
    optimizer = torch.optim.SGD(groups, lr=1e-3, momentum=0.9)
elif name == "rmsprop":
    optimizer = torch.optim.RMSprop(groups, lr=1e-3)
elif name == "adagrad":
    optimizer = torch.optim.Adagrad(groups, lr=1e-3)
elif name == "nadam":
    optimizer = torch.optim.NAdam(groups, lr=1e-3)
else:
    optimizer = torch.optim.AdamW(groups, lr=1e-3)


def step():
    loss = model(torch.randn(32, 1024, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(3):
    step()
path = os.path.join(tempfile.mkdtemp(), "state.pt")
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
state = torch.load(path, map_location="cuda")
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
for _ in range(2):
    step()
