from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import SwinConfig, SwinModel


@dataclass
class Config:
    img: int = 224
    bs: int = 24
    steps: int = 8
    n_genus: int = 180
    n_species: int = 1200
    lr_backbone: float = 2e-5
    lr_head: float = 1e-3
    precision: str = "16-mixed"


class HierarchicalSwin(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.encoder = SwinModel(SwinConfig(
            image_size=c.img, embed_dim=96, depths=[2, 2, 18, 2], num_heads=[3, 6, 12, 24], drop_path_rate=0.2))
        d = self.encoder.config.hidden_size
        self.genus = nn.Linear(d, c.n_genus)
        self.species = nn.Sequential(nn.Linear(d + c.n_genus, 2048), nn.GELU(), nn.Linear(2048, c.n_species))

    def forward(self, x):
        z = self.encoder(pixel_values=x).pooler_output
        g = self.genus(z)
        s = self.species(torch.cat([z, g.softmax(-1)], dim=-1))
        return g, s


def train(fabric, model, opt, loader, c):
    ce = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses = []
    model.train()
    for i, (x, yg, ys) in enumerate(loader):
        g, s = model(x)
        loss = ce(s, ys) + 0.3 * ce(g, yg)
        fabric.backward(loss)
        opt.step()
        opt.zero_grad()
        losses.append(loss.detach())
        if i % 2 == 0:
            fabric.print(f"iter {i}: {loss.item():.4f}")
    return torch.stack(losses).mean()


def main():
    c = Config()
    fabric = Fabric(accelerator="cuda", devices=1, precision=c.precision)
    fabric.seed_everything(3)
    fabric.launch()

    n = c.bs * c.steps
    ds = TensorDataset(torch.randn(n, 3, c.img, c.img), torch.randint(0, c.n_genus, (n,)),
                       torch.randint(0, c.n_species, (n,)))
    loader = fabric.setup_dataloaders(DataLoader(ds, batch_size=c.bs, shuffle=True, drop_last=True))
    model = HierarchicalSwin(c)
    opt = torch.optim.AdamW([
        {"params": model.encoder.parameters(), "lr": c.lr_backbone},
        {"params": list(model.genus.parameters()) + list(model.species.parameters()), "lr": c.lr_head},
    ], weight_decay=1e-4)
    model, opt = fabric.setup(model, opt)
    avg = train(fabric, model, opt, loader, c)
    fabric.print("mean loss", avg.item())
    fabric.save("/tmp/fabric_swin.ckpt", {"model": model, "opt": opt})


if __name__ == "__main__":
    main()
