import torch
from torch import nn

net = nn.Sequential(*[m for _ in range(24) for m in (nn.Linear(4096, 4096), nn.ReLU())], nn.Linear(4096, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
rows = 8500
for epoch in range(3):
    for i in range(50):
        x, y = torch.randn(rows, 4096, device="cuda"), torch.randint(0, 10, (rows,), device="cuda")
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, loss.item())
