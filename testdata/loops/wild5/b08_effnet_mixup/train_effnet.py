import os
import tempfile
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torch.utils.data import Dataset, DataLoader

CFG = dict(
    seed=42, arch="efficientnet_b3", num_classes=100, img_size=300,
    train_bs=48, valid_bs=96, epochs=2, lr=1e-3, wd=1e-5, mixup_alpha=0.4, smoothing=0.1,
    n_train=48 * 4, n_valid=130, ema=0.999, accum=1,
)


def seed_everything(seed):
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.backends.cudnn.benchmark = False


class LeafDataset(Dataset):
    def __init__(self, n, size, n_cls):
        self.labels = np.random.randint(0, n_cls, n)
        self.size = size

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        img = np.random.randint(0, 255, (self.size, self.size, 3), dtype=np.uint8)
        if np.random.rand() < 0.5:
            img = img[:, ::-1].copy()
        img = torch.from_numpy(img).permute(2, 0, 1).float().div(255)
        return (img - 0.45) / 0.225, int(self.labels[idx])


def mixup_data(x, y, alpha):
    lam = np.random.beta(alpha, alpha)
    index = torch.randperm(x.size(0), device=x.device)
    mixed = lam * x + (1 - lam) * x[index, :]
    return mixed, y, y[index], lam


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, v, n=1):
        self.sum += v * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def train_one_epoch(epoch, model, ema_model, loss_fn, optimizer, scheduler, scaler, loader, device):
    model.train()
    meter = AverageMeter()
    for step, (imgs, labels) in enumerate(loader):
        imgs = imgs.to(device, memory_format=torch.channels_last)
        labels = labels.to(device)
        x, ya, yb, lam = mixup_data(imgs, labels, CFG["mixup_alpha"])
        with torch.amp.autocast("cuda", dtype=torch.float16):
            preds = model(x)
            loss = lam * loss_fn(preds, ya) + (1 - lam) * loss_fn(preds, yb)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=False)
        scheduler.step()
        ema_model.update_parameters(model)
        meter.update(loss.item(), imgs.size(0))
        print(f"epoch {epoch} step {step} loss: {meter.avg:.4f}")


@torch.inference_mode()
def valid_one_epoch(epoch, model, loss_fn, loader, device):
    model.eval()
    all_p, all_t = [], []
    meter = AverageMeter()
    for imgs, labels in loader:
        imgs = imgs.to(device).float()
        labels = labels.to(device).long()
        preds = model(imgs)
        all_p += [preds.argmax(1).cpu().numpy()]
        all_t += [labels.cpu().numpy()]
        meter.update(loss_fn(preds, labels).item(), labels.size(0))
    acc = (np.concatenate(all_p) == np.concatenate(all_t)).mean()
    print(f"epoch {epoch} valid loss {meter.avg:.4f} acc {acc:.4f}")
    return acc


if __name__ == "__main__":
    seed_everything(CFG["seed"])
    device = torch.device("cuda:0")
    tl = DataLoader(LeafDataset(CFG["n_train"], CFG["img_size"], CFG["num_classes"]), batch_size=CFG["train_bs"],
                    shuffle=True, drop_last=True, pin_memory=True)
    vl = DataLoader(LeafDataset(CFG["n_valid"], CFG["img_size"], CFG["num_classes"]), batch_size=CFG["valid_bs"])
    model = getattr(torchvision.models, CFG["arch"])(weights=None)
    model.classifier[1] = nn.Linear(model.classifier[1].in_features, CFG["num_classes"])
    model = model.to(device, memory_format=torch.channels_last)
    ema = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(CFG["ema"]), use_buffers=False)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=CFG["lr"], momentum=0.9, weight_decay=CFG["wd"], eps=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10, eta_min=1e-6)
    scaler = torch.amp.GradScaler("cuda")
    tr_loss = nn.CrossEntropyLoss(label_smoothing=CFG["smoothing"]).to(device)
    va_loss = nn.CrossEntropyLoss().to(device)
    best = 0
    for ep in range(CFG["epochs"]):
        train_one_epoch(ep, model, ema, tr_loss, optimizer, scheduler, scaler, tl, device)
        acc = valid_one_epoch(ep, ema.module, va_loss, vl, device)
        if acc >= best:
            best = acc
            f = os.path.join(tempfile.gettempdir(), f"{CFG['arch']}_best.pt")
            torch.save(model.state_dict(), f)
            os.remove(f)
    del model, optimizer, scaler
    torch.cuda.empty_cache()
