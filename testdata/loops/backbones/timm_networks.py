"""A model of timm, optionally in channels_last, with Mixup."""
import sys

import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy

model = timm.create_model(sys.argv[1], pretrained=False, num_classes=50, drop_path_rate=0.1).cuda()
last = len(sys.argv) > 2
if last:
    model = model.to(memory_format=torch.channels_last)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=50)
loss_fn = SoftTargetCrossEntropy()
model.train()
for step in range(4):
    x = torch.randn(8, 3, 224, 224, device="cuda")
    if last:
        x = x.contiguous(memory_format=torch.channels_last)
    x, y = mixup(x, torch.randint(0, 50, (8,), device="cuda"))
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
