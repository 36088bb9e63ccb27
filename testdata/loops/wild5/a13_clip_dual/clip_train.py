import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import DistilBertConfig, DistilBertModel, ViTConfig, ViTModel


class CFG:
    batch_size = 64
    image_size = 224
    max_length = 64
    proj_dim = 256
    temperature = 0.07
    image_lr = 1e-4
    text_lr = 1e-5
    head_lr = 1e-3
    weight_decay = 1e-3
    steps = 10
    val_steps = 2
    device = torch.device("cuda")


class ProjectionHead(nn.Module):
    def __init__(self, dim, proj=CFG.proj_dim, dropout=0.1):
        super().__init__()
        self.projection = nn.Linear(dim, proj)
        self.gelu = nn.GELU()
        self.fc = nn.Linear(proj, proj)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(proj)

    def forward(self, x):
        projected = self.projection(x)
        x = self.gelu(projected)
        x = self.fc(x)
        x = self.dropout(x)
        x = x + projected
        return self.layer_norm(x)


class DualEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.image_encoder = ViTModel(ViTConfig(image_size=CFG.image_size), add_pooling_layer=False)
        self.text_encoder = DistilBertModel(DistilBertConfig())
        self.image_proj = ProjectionHead(768)
        self.text_proj = ProjectionHead(768)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / CFG.temperature)))

    def forward(self, batch):
        img = self.image_encoder(batch["image"]).last_hidden_state[:, 0]
        txt = self.text_encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        m = batch["attention_mask"].unsqueeze(-1)
        txt = (txt * m).sum(1) / m.sum(1)
        i = F.normalize(self.image_proj(img), dim=-1)
        t = F.normalize(self.text_proj(txt), dim=-1)
        logits = self.logit_scale.exp() * i @ t.T
        target = torch.arange(len(i), device=i.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


class AvgMeter:
    def __init__(self, name="loss"):
        self.name = name
        self.reset()

    def reset(self):
        self.avg, self.sum, self.count = [0] * 3

    def update(self, val, count=1):
        self.count += count
        self.sum += val * count
        self.avg = self.sum / self.count


def get_batch():
    return {
        "image": torch.randn(CFG.batch_size, 3, CFG.image_size, CFG.image_size),
        "input_ids": torch.randint(0, 30000, (CFG.batch_size, CFG.max_length)),
        "attention_mask": (torch.arange(CFG.max_length)[None] < torch.randint(8, 64, (CFG.batch_size, 1))).long(),
    }


def train_epoch(model, optimizer, lr_scheduler):
    meter = AvgMeter()
    for _ in range(CFG.steps):
        batch = {k: v.to(CFG.device) for k, v in get_batch().items()}
        loss = model(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        lr_scheduler.step()
        meter.update(loss.item(), batch["image"].size(0))
    return meter


def valid_epoch(model):
    meter = AvgMeter()
    for _ in range(CFG.val_steps):
        batch = {k: v.to(CFG.device) for k, v in get_batch().items()}
        loss = model(batch)
        meter.update(loss.item(), batch["image"].size(0))
    return meter


def main():
    model = DualEncoder().to(CFG.device)
    params = [
        {"params": model.image_encoder.parameters(), "lr": CFG.image_lr},
        {"params": model.text_encoder.parameters(), "lr": CFG.text_lr},
        {"params": list(model.image_proj.parameters()) + list(model.text_proj.parameters()) + [model.logit_scale],
         "lr": CFG.head_lr, "weight_decay": CFG.weight_decay},
    ]
    optimizer = torch.optim.AdamW(params, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    model.train()
    tr = train_epoch(model, optimizer, sched)
    model.eval()
    with torch.no_grad():
        va = valid_epoch(model)
    print("train", tr.avg, "valid", va.avg)
    torch.save(model.state_dict(), "/tmp/best.pt")


if __name__ == "__main__":
    main()
