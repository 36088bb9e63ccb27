import torch, torch.nn as nn
class Rec(nn.Module):
    def __init__(self, users=50000, items=20000, d=64):
        super().__init__()
        self.u, self.i = nn.Embedding(users, d), nn.Embedding(items, d)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * d, 512), nn.ReLU6(), nn.Linear(512, 256), nn.Hardswish(), nn.Linear(256, 1))
    def forward(self, u, i):
        pu, qi = self.u(u), self.i(i)
        dot = (pu * qi).sum(1) + self.bu(u).squeeze() + self.bi(i).squeeze()
        return dot + self.mlp(torch.cat([pu, qi], -1)).squeeze(-1)
m = Rec().cuda(); opt = torch.optim.Adagrad(m.parameters(), lr=0.05)
u, i, r = torch.randint(0, 50000, (40000,)), torch.randint(0, 20000, (40000,)), torch.rand(40000)
bs = 8192
for ep in range(2):
    perm = torch.randperm(len(u))
    for k in range(0, len(u), bs):
        b = perm[k:k + bs]
        pred = m(u[b].cuda(), i[b].cuda())
        loss = nn.functional.mse_loss(torch.sigmoid(pred), r[b].cuda())
        opt.zero_grad(); loss.backward(); opt.step()
