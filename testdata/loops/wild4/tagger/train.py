import argparse
from pathlib import Path
import torch
import yaml
from torch.utils.data import DataLoader, Dataset
from src.engine import Engine
from src.model import Tagger


class Tags(Dataset):
    def __init__(self, n, cfg):
        self.data = [{"ids": torch.randint(1, cfg["vocab"], (cfg["max_len"],)), "tags": torch.randint(0, 17, (cfg["max_len"],))} for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def load_config(path):
    with open(path) as f:
        return yaml.safe_load(f)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", type=Path, default=Path(__file__).parent / "config.yaml")
    ap.add_argument("--batch-size", type=int)
    args = ap.parse_args()
    cfg = load_config(args.config)
    if args.batch_size is not None:
        cfg["train"]["batch_size"] = args.batch_size
    device = torch.device("cuda")
    model = Tagger(cfg["model"], 17)
    engine = Engine(model, cfg["train"], device)
    bs = cfg["train"]["batch_size"]
    train_loader = DataLoader(Tags(bs * 4, cfg["model"]), batch_size=bs, shuffle=True)
    val_loader = DataLoader(Tags(bs * 2, cfg["model"]), batch_size=2 * bs)
    for epoch in range(cfg["train"]["epochs"]):
        print(engine.train_one_epoch(train_loader), engine.validate(val_loader))
        torch.save({"model": engine.model.state_dict(), "ema": engine.ema.module.state_dict(), "optim": engine.optim.state_dict()}, "last.pt")
