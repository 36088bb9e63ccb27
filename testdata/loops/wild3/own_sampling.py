"""Samples of words, with layers in place."""
import torch, torch.nn as nn, torch.nn.functional as F
net = nn.Sequential(nn.Linear(512, 2048), nn.Dropout(0.3, inplace=True), nn.Sigmoid(), nn.Linear(2048, 4096)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(256, 512, device="cuda")
    logits = net(x)
    p = logits.softmax(-1)
    a = torch.multinomial(p.detach(), 1)
    b = torch.multinomial(p.detach(), 4)
    c = p.detach()[0].multinomial(3)
    d = torch.multinomial(p.detach(), num_samples=4, replacement=True)
    h = F.elu_(logits * 2)
    h = torch.sigmoid_(h + 1)
    loss = (h.gather(-1, b) * p.gather(-1, d)).sum() + p.gather(-1, a).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    y = net(x).tanh_()
