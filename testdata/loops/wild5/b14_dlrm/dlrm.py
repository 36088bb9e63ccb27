import argparse
import sys

import numpy as np
import torch
import torch.nn as nn


def create_mlp(ln, sigmoid_layer):
    layers = nn.ModuleList()
    for i in range(0, len(ln) - 1):
        n, m = int(ln[i]), int(ln[i + 1])
        LL = nn.Linear(n, m, bias=True)
        LL.weight.data.normal_(0.0, np.sqrt(2 / (m + n)))
        LL.bias.data.normal_(0.0, np.sqrt(1 / m))
        layers.append(LL)
        layers.append(nn.Sigmoid() if i == sigmoid_layer else nn.ReLU())
    return torch.nn.Sequential(*layers)


def create_emb(m, ln, sparse):
    emb_l = nn.ModuleList()
    for n in ln:
        EE = nn.EmbeddingBag(int(n), m, mode="sum", sparse=sparse)
        nn.init.uniform_(EE.weight, -1 / np.sqrt(n), 1 / np.sqrt(n))
        emb_l.append(EE)
    return emb_l


class DLRM_Net(nn.Module):
    def __init__(self, m_spa, ln_emb, ln_bot, ln_top, sparse=True, itself=False):
        super().__init__()
        self.emb_l = create_emb(m_spa, ln_emb, sparse)
        self.bot_l = create_mlp(ln_bot, -1)
        num_fea = len(ln_emb) + 1
        num_int = (num_fea * (num_fea - 1)) // 2 + ln_bot[-1]
        self.top_l = create_mlp([num_int] + list(ln_top), len(ln_top) - 1)
        self.itself = itself

    def interact_features(self, x, ly):
        (batch_size, d) = x.shape
        T = torch.cat([x] + ly, dim=1).view((batch_size, -1, d))
        Z = torch.bmm(T, torch.transpose(T, 1, 2))
        _, ni, nj = Z.shape
        offset = 1 if self.itself else 0
        li = torch.tensor([i for i in range(ni) for j in range(i + offset)])
        lj = torch.tensor([j for i in range(nj) for j in range(i + offset)])
        Zflat = Z[:, li, lj]
        return torch.cat([x] + [Zflat], dim=1)

    def forward(self, dense_x, lS_o, lS_i):
        x = self.bot_l(dense_x)
        ly = [E(lS_i[k], lS_o[k]) for k, E in enumerate(self.emb_l)]
        z = self.interact_features(x, ly)
        return self.top_l(z)


def random_batch(n, m_den, ln_emb, pooling, rng):
    X = torch.from_numpy(rng.random((n, m_den), dtype=np.float32))
    lS_o, lS_i = [], []
    for size in ln_emb:
        lS_o.append(torch.arange(0, n * pooling, pooling))
        lS_i.append(torch.from_numpy(rng.integers(0, size, n * pooling)))
    T = torch.from_numpy(rng.integers(0, 2, (n, 1)).astype(np.float32))
    return X, torch.stack(lS_o), torch.stack(lS_i), T


def dash_separated_ints(value):
    return [int(v) for v in value.split("-")]


def run():
    p = argparse.ArgumentParser(description="click-through rate model")
    p.add_argument("--arch-sparse-feature-size", type=int, default=64)
    p.add_argument("--arch-embedding-size", type=dash_separated_ints,
                   default="2000000-1000000-500000-300000-100000-50000-20000-10000-5000-1000-500-200-100-50-20-10")
    p.add_argument("--arch-mlp-bot", type=dash_separated_ints, default="13-512-256-64")
    p.add_argument("--arch-mlp-top", type=dash_separated_ints, default="1024-1024-512-256-1")
    p.add_argument("--mini-batch-size", type=int, default=16384)
    p.add_argument("--num-batches", type=int, default=10)
    p.add_argument("--num-indices-per-lookup", type=int, default=8)
    p.add_argument("--learning-rate", type=float, default=0.1)
    p.add_argument("--optimizer", choices=["sgd", "adagrad"], default="adagrad")
    p.add_argument("--dense-emb", action="store_true")
    p.add_argument("--print-freq", type=int, default=2)
    p.add_argument("--test-mini-batch-size", type=int, default=32768)
    args = p.parse_args()
    rng = np.random.default_rng(123)
    np.random.seed(123)
    torch.manual_seed(123)
    device = torch.device("cuda", 0)

    ln_emb = args.arch_embedding_size
    ln_bot = args.arch_mlp_bot
    if ln_bot[-1] != args.arch_sparse_feature_size:
        sys.exit("ERROR: arch-sparse-feature-size does not match last dim of bottom mlp")
    dlrm = DLRM_Net(args.arch_sparse_feature_size, ln_emb, ln_bot, args.arch_mlp_top, sparse=not args.dense_emb)
    dlrm = dlrm.to(device)
    loss_fn = torch.nn.BCELoss(reduction="mean")
    cls = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[args.optimizer]
    optimizer = cls(dlrm.parameters(), lr=args.learning_rate)

    total_loss, total_samp = 0, 0
    for j in range(args.num_batches):
        X, lS_o, lS_i, T = random_batch(args.mini_batch_size, ln_bot[0], ln_emb, args.num_indices_per_lookup, rng)
        Z = dlrm(X.to(device), lS_o.to(device), lS_i.to(device))
        E = loss_fn(Z, T.to(device))
        L = E.detach().cpu().numpy()
        optimizer.zero_grad()
        E.backward()
        optimizer.step()
        total_loss += L * T.shape[0]
        total_samp += T.shape[0]
        if (j + 1) % args.print_freq == 0:
            print("Finished training it {}/{}, loss {:.6f}".format(j + 1, args.num_batches, total_loss / total_samp))
            total_loss, total_samp = 0, 0

    dlrm.eval()
    with torch.no_grad():
        X, lS_o, lS_i, T = random_batch(args.test_mini_batch_size, ln_bot[0], ln_emb, args.num_indices_per_lookup, rng)
        Z = dlrm(X.to(device), lS_o.to(device), lS_i.to(device))
        acc = (torch.round(Z) == T.to(device)).float().mean()
    print("test acc", acc.item())


if __name__ == "__main__":
    run()
