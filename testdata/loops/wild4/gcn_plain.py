"""GCN on one big random graph with a sparse-free message passing (index_add), full batch as in the papers."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GCNLayer(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.lin = nn.Linear(in_dim, out_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, x, src, dst, norm):
        h = self.lin(x)
        msg = h[src] * norm.unsqueeze(-1)
        out = torch.zeros_like(h)
        out.index_add_(0, dst, msg)
        return out + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, layers=3, dropout=0.5):
        super().__init__()
        dims = [nfeat] + [nhid] * (layers - 1) + [nclass]
        self.layers = nn.ModuleList([GCNLayer(a, b) for a, b in zip(dims, dims[1:])])
        self.dropout = dropout

    def forward(self, x, src, dst, norm):
        for i, l in enumerate(self.layers):
            x = l(x, src, dst, norm)
            if i < len(self.layers) - 1:
                x = F.dropout(F.relu(x), self.dropout, training=self.training)
        return F.log_softmax(x, dim=1)


N, E, nfeat, nclass = 20000, 200000, 500, 40
device = torch.device("cuda")
features = torch.randn(N, nfeat, device=device)
labels = torch.randint(0, nclass, (N,), device=device)
edge_index = torch.randint(0, N, (2, E), device=device)
src, dst = edge_index
deg = torch.zeros(N, device=device).index_add_(0, dst, torch.ones(E, device=device)).clamp(min=1)
norm = (deg[src] * deg[dst]).rsqrt()
idx_train = torch.arange(0, 12000, device=device)
idx_val = torch.arange(12000, 16000, device=device)
model = GCN(nfeat, 256, nclass).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    return correct.sum() / len(labels)


for epoch in range(6):
    model.train()
    optimizer.zero_grad()
    output = model(features, src, dst, norm)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    acc_train = accuracy(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    model.eval()
    output = model(features, src, dst, norm)
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    acc_val = accuracy(output[idx_val], labels[idx_val])
    print(epoch, loss_train.item(), acc_train.item(), loss_val.item(), acc_val.item())
