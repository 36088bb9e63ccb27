import argparse
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForImageClassification


class FakeImages(Dataset):
    def __init__(self, n, size, classes):
        self.n, self.size, self.classes = n, size, classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, self.size, self.size, generator=g), i % self.classes


def accuracy(output, target, topk=(1, 5)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1)
        hit = pred.eq(target.view(-1, 1))
        return [hit[:, :k].any(1).float().mean().item() for k in topk]


def train_one_epoch(model, ema, loader, criterion, optimizer, device, bf16):
    model.train()
    for i, (images, target) in enumerate(loader):
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            output = model(images).logits
            loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update_parameters(model)
        acc1, acc5 = accuracy(output, target)
        print(f"[{i}/{len(loader)}] loss {loss.item():.3f} acc@1 {acc1:.2f} acc@5 {acc5:.2f}")


@torch.inference_mode()
def validate(model, loader, device):
    model.eval()
    return sum(accuracy(model(x.to(device)).logits, y.to(device))[0] for x, y in loader) / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("-b", "--batch-size", type=int, default=32)
    ap.add_argument("--classes", type=int, default=100)
    ap.add_argument("--bf16", action="store_true")
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cfg = AutoConfig.from_pretrained(args.config, num_labels=args.classes)
    model = AutoModelForImageClassification.from_config(cfg).to(device)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    train = DataLoader(FakeImages(3 * args.batch_size, cfg.image_size, args.classes), args.batch_size, shuffle=True, pin_memory=torch.cuda.is_available())
    val = DataLoader(FakeImages(args.batch_size, cfg.image_size, args.classes), args.batch_size)
    for epoch in range(2):
        train_one_epoch(model, ema, train, criterion, optimizer, device, args.bf16)
        print("val", validate(model, val, device), "ema", validate(ema, val, device))


if __name__ == "__main__":
    main()
