# ULMFiT-like gradual unfreezing on an encoder classifier
import argparse
import torch
import torch.nn as nn
from transformers import AutoConfig, AutoModel


class Classifier(nn.Module):
    def __init__(self, path, n_classes):
        super().__init__()
        self.config = AutoConfig.from_pretrained(path)
        self.base = AutoModel.from_config(self.config)
        h = self.config.hidden_size
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * h, h), nn.ReLU(inplace=True), nn.Linear(h, n_classes))

    def layers(self):
        return next(m for m in self.base.modules() if isinstance(m, nn.ModuleList))

    def freeze_to(self, n):
        """only the last n layers and the head stay trainable"""
        self.base.requires_grad_(False)
        if n > 0:
            for layer in list(self.layers())[-n:]:
                layer.requires_grad_(True)

    def forward(self, ids):
        h = self.base(ids).last_hidden_state
        pooled = torch.cat([h.mean(1), h.max(1).values], dim=-1)
        return self.head(pooled)


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--stages", type=int, nargs="+", default=[0, 2, 4])
    ap.add_argument("--steps-per-stage", type=int, default=3)
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Classifier(args.config, 10).to(device)
    for depth in args.stages:
        model.freeze_to(depth)
        optimizer = torch.optim.Adam(trainable(model), lr=1e-3 if depth == 0 else 5e-5)
        print("stage", depth, sum(p.numel() for p in trainable(model)), "trainable")
        for _ in range(args.steps_per_stage):
            x = torch.randint(model.config.vocab_size, (args.batch_size, args.seq_len)).to(device)
            y = torch.randint(10, (args.batch_size,)).to(device)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("   loss", loss.item())


if __name__ == "__main__":
    main()
