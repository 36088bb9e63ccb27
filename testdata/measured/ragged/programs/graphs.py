"""Random molecules with a GIN or a GCN, batched by torch_geometric's loader."""
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, GINConv, global_add_pool, global_mean_pool
from common import *

r = random.Random(3)
data = []
for i in range(2000):
    n = max(4, int(r.gauss(28, 9)))
    e = int(n * r.uniform(2.0, 4.5))
    data.append(Data(x=torch.randn(n, 16), edge_index=torch.randint(0, n, (2, e)), y=torch.tensor([i % 2])))


class GIN(nn.Module):
    def __init__(self, d=512, layers=5):
        super().__init__()
        self.convs = nn.ModuleList()
        for i in range(layers):
            mlp = nn.Sequential(nn.Linear(d if i else 16, d), nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
            self.convs.append(GINConv(mlp))
        self.out = nn.Linear(d, 2)

    def forward(self, x, edge_index, batch):
        for conv in self.convs:
            x = conv(x, edge_index)
        return self.out(global_add_pool(x, batch))


class GCN(nn.Module):
    def __init__(self, d=384):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = GCNConv(16, d), GCNConv(d, d), GCNConv(d, d)
        self.lin = nn.Linear(d, 2)

    def forward(self, data):
        x = self.conv1(data.x, data.edge_index).relu()
        x = self.conv2(x, data.edge_index).relu()
        x = self.conv3(x, data.edge_index)
        x = nn.functional.dropout(global_mean_pool(x, data.batch), 0.5, self.training)
        return self.lin(x)


loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)
model = (GCN() if args.variant == "gcn" else GIN()).to(device)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
step = 0
while step < args.steps:
    for d in loader:
        d = d.to(device)
        opt.zero_grad()
        out = model(d) if args.variant == "gcn" else model(d.x, d.edge_index, d.batch)
        loss = nn.functional.cross_entropy(out, d.y)
        loss.backward()
        opt.step()
        step += 1
        if step == args.steps:
            break
end()
