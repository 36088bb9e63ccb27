import sys
import time
from collections import OrderedDict

import timm
import timm.optim
import torch
import yaml
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV2, accuracy, NativeScaler

with open(sys.argv[1] if len(sys.argv) > 1 else "cfg.yaml") as f:
    C = yaml.safe_load(f)


class SyntheticLoader:
    def __init__(self, n_batches, bs, size, classes, device, channels_last):
        self.n = n_batches
        self.x = torch.randn(bs, 3, size, size, device=device)
        if channels_last:
            self.x = self.x.contiguous(memory_format=torch.channels_last)
        self.y = torch.randint(0, classes, (bs,), device=device)

    def __len__(self):
        return self.n

    def __iter__(self):
        for _ in range(self.n):
            yield self.x, self.y


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, scaler, mixup_fn, ema, sched):
    losses_m = AverageMeter()
    model.train()
    num_updates = epoch * len(loader)
    for i, (x, y) in enumerate(loader):
        x, y = mixup_fn(x.clone(), y)
        with torch.autocast("cuda", enabled=C["amp"]):
            out = model(x)
            loss = loss_fn(out, y)
        optimizer.zero_grad()
        scaler(loss, optimizer, clip_grad=5.0, parameters=model.parameters())
        ema.update(model)
        num_updates += 1
        sched.step_update(num_updates=num_updates)
        losses_m.update(loss.item(), x.size(0))
        if i % 3 == 0:
            print(f"Train {epoch} [{i}/{len(loader)}] loss {losses_m.val:.4f} ({losses_m.avg:.4f})")
    return OrderedDict(loss=losses_m.avg)


def validate(model, loader):
    top1 = AverageMeter()
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            with torch.autocast("cuda", enabled=C["amp"]):
                out = model(x)
            a1, _ = accuracy(out, y, topk=(1, 5))
            top1.update(a1.item(), x.size(0))
    return OrderedDict(top1=top1.avg)


def main():
    torch.backends.cuda.matmul.allow_tf32 = True
    device = "cuda"
    model = timm.create_model(C["model"], pretrained=False, num_classes=C["num_classes"], drop_path_rate=C["drop_path"])
    model.to(device)
    if C["channels_last"]:
        model = model.to(memory_format=torch.channels_last)
    print(f"{C['model']} {sum(m.numel() for m in model.parameters())/1e6:.1f}M")
    optimizer = timm.optim.create_optimizer_v2(model, opt=C["opt"], lr=C["lr"], weight_decay=C["weight_decay"])
    scaler = NativeScaler()
    ema = ModelEmaV2(model, decay=C["ema_decay"])
    mixup_fn = Mixup(mixup_alpha=C["mixup"], cutmix_alpha=C["cutmix"], label_smoothing=C["smoothing"],
                     num_classes=C["num_classes"])
    sched = CosineLRScheduler(optimizer, t_initial=C["steps_per_epoch"], warmup_t=2, warmup_lr_init=1e-6,
                              t_in_epochs=False)
    tr = SyntheticLoader(C["steps_per_epoch"], C["batch_size"], C["img_size"], C["num_classes"], device,
                         C["channels_last"])
    va = SyntheticLoader(2, C["val_batch_size"], C["img_size"], C["num_classes"], device, C["channels_last"])
    t = time.time()
    print(train_one_epoch(0, model, tr, optimizer, SoftTargetCrossEntropy(), scaler, mixup_fn, ema, sched))
    print("val", validate(model, va))
    print("val ema", validate(ema.module, va))
    print(f"{time.time()-t:.1f}s")


if __name__ == "__main__":
    main()
