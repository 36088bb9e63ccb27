"""Takes many steps on two ranks that wait for each other."""
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(1000):
    layer(torch.ones(2, 4)).sum().backward()
    time.sleep(0.01)
    optimizer.step()
    optimizer.zero_grad()
