import argparse
import copy

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_series(n_steps, n_features, seed=7):
    rng = np.random.default_rng(seed)
    t = np.arange(n_steps)[:, None]
    freq = rng.uniform(0.005, 0.05, size=(1, n_features))
    phase = rng.uniform(0, 6.28, size=(1, n_features))
    x = np.sin(t * freq + phase) + 0.1 * rng.standard_normal((n_steps, n_features))
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32)


class WindowDataset(Dataset):
    def __init__(self, series, window, horizon, target_col=0):
        self.series = torch.from_numpy(series)
        self.window, self.horizon, self.target_col = window, horizon, target_col

    def __len__(self):
        return len(self.series) - self.window - self.horizon + 1

    def __getitem__(self, i):
        x = self.series[i:i + self.window]
        y = self.series[i + self.window:i + self.window + self.horizon, self.target_col]
        return x, y


class GRUForecaster(nn.Module):
    def __init__(self, n_features, hidden, layers, horizon, dropout=0.2):
        super().__init__()
        self.inp = nn.Sequential(nn.Linear(n_features, hidden // 2), nn.ReLU())
        self.gru = nn.GRU(hidden // 2, hidden, num_layers=layers, dropout=dropout, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, horizon))

    def forward(self, x):
        z = self.inp(x)
        out, _ = self.gru(z)
        last = self.norm(out[:, -1])
        return self.head(last)


class EarlyStopping:
    def __init__(self, patience=3):
        self.patience = patience
        self.best = np.inf
        self.counter = 0
        self.best_state = None

    def step(self, val, model):
        if val < self.best:
            self.best = val
            self.counter = 0
            self.best_state = copy.deepcopy(model.state_dict())
        else:
            self.counter += 1
        return self.counter >= self.patience


def run(args):
    device = torch.device("cuda")
    series = make_series(7000, args.features)
    cut = int(len(series) * 0.8)
    train_ds = WindowDataset(series[:cut], args.window, args.horizon)
    val_ds = WindowDataset(series[cut:], args.window, args.horizon)
    train_dl = DataLoader(train_ds, args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, args.batch_size)
    model = GRUForecaster(args.features, args.hidden, args.layers, args.horizon).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
    loss_fn = nn.HuberLoss()
    stopper = EarlyStopping()
    history = {"train": [], "val": []}

    for epoch in range(args.epochs):
        model.train()
        batch_losses = []
        for x, y in train_dl:
            x = x.to(device)
            y = y.to(device)
            opt.zero_grad()
            pred = model(x)
            loss = loss_fn(pred, y)
            loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
            opt.step()
            batch_losses.append(loss.item())
        history["train"].append(np.mean(batch_losses))

        model.eval()
        preds, trues = [], []
        with torch.no_grad():
            for x, y in val_dl:
                preds.append(model(x.to(device)).cpu())
                trues.append(y)
        preds, trues = torch.cat(preds), torch.cat(trues)
        val = loss_fn(preds, trues).item()
        history["val"].append(val)
        sched.step(val)
        print(f"epoch {epoch}: train {history['train'][-1]:.5f} val {val:.5f} mae {(preds - trues).abs().mean():.4f}")
        if stopper.step(val, model):
            print("early stop")
            break
    model.load_state_dict(stopper.best_state or model.state_dict())


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--window", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--features", type=int, default=21)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--batch_size", type=int, default=256)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--lr", type=float, default=1e-3)
    run(p.parse_args())
