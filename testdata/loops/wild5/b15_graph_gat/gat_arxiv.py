import argparse

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv
from torch_geometric.utils import add_self_loops, to_undirected


class GCN(torch.nn.Module):
    def __init__(self, cin, hid, cout, n_layers, dropout):
        super().__init__()
        self.convs = torch.nn.ModuleList()
        self.bns = torch.nn.ModuleList()
        self.convs.append(GCNConv(cin, hid, cached=True))
        self.bns.append(torch.nn.BatchNorm1d(hid))
        for _ in range(n_layers - 2):
            self.convs.append(GCNConv(hid, hid, cached=True))
            self.bns.append(torch.nn.BatchNorm1d(hid))
        self.convs.append(GCNConv(hid, cout, cached=True))
        self.dropout = dropout

    def forward(self, x, edge_index):
        for conv, bn in zip(self.convs[:-1], self.bns):
            x = F.dropout(F.relu(bn(conv(x, edge_index))), p=self.dropout, training=self.training)
        return self.convs[-1](x, edge_index)


class GAT(torch.nn.Module):
    def __init__(self, cin, hid, cout, n_layers, dropout, heads=4):
        super().__init__()
        self.convs = torch.nn.ModuleList()
        self.skips = torch.nn.ModuleList()
        for i in range(n_layers):
            i_dim = cin if i == 0 else hid * heads
            last = i == n_layers - 1
            o = cout if last else hid
            self.convs.append(GATConv(i_dim, o, heads=heads, concat=not last, dropout=0.1))
            self.skips.append(torch.nn.Linear(i_dim, o if last else o * heads))
        self.dropout = dropout

    def forward(self, x, edge_index):
        for i, (conv, skip) in enumerate(zip(self.convs, self.skips)):
            x = conv(x, edge_index) + skip(x)
            if i != len(self.convs) - 1:
                x = F.elu(x)
                x = F.dropout(x, p=self.dropout, training=self.training)
        return x


def synthetic_graph(n, deg, feat, classes):
    g = torch.Generator().manual_seed(12345)
    src = torch.randint(0, n, (n * deg,), generator=g)
    dst = (src + torch.randint(1, n, (n * deg,), generator=g)) % n
    ei = torch.stack([src, dst])
    x = torch.randn(n, feat, generator=g)
    y = torch.randint(0, classes, (n,), generator=g)
    perm = torch.randperm(n, generator=g)
    return Data(x=x, edge_index=ei, y=y), perm[: n // 2], perm[n // 2: 3 * n // 4]


def train(model, data, idx, opt):
    model.train()
    opt.zero_grad()
    out = model(data.x, data.edge_index)[idx]
    loss = F.cross_entropy(out, data.y[idx])
    loss.backward()
    opt.step()
    return loss.item()


@torch.no_grad()
def test(model, data, idx):
    model.eval()
    pred = model(data.x, data.edge_index).argmax(dim=-1)
    return (pred[idx] == data.y[idx]).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["gcn", "gat"], default="gat")
    parser.add_argument("--nodes", type=int, default=100000)
    parser.add_argument("--deg", type=int, default=7)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=8)
    a = parser.parse_args()
    torch.manual_seed(0)
    data, tr, va = synthetic_graph(a.nodes, a.deg, 128, 40)
    data.edge_index, _ = add_self_loops(to_undirected(data.edge_index))
    data = data.to("cuda")
    tr, va = tr.to("cuda"), va.to("cuda")
    net = {"gcn": GCN, "gat": GAT}[a.model](128, a.hidden, 40, a.layers, a.dropout).to("cuda")
    opt = torch.optim.Adam(net.parameters(), lr=0.005)
    for ep in range(1, a.epochs + 1):
        loss = train(net, data, tr, opt)
        if ep % 4 == 0:
            print(f"Epoch {ep:02d} loss {loss:.4f} val {test(net, data, va):.4f}")
        else:
            print(f"Epoch {ep:02d} loss {loss:.4f}")


if __name__ == "__main__":
    main()
