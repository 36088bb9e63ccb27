import argparse
import os
import tempfile
import time

import torch
import torch.nn as nn
import torchvision.models as models
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import FakeData


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)

    def __str__(self):
        return f"{self.name} {self.avg:.4f}"


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def train(loader, model, criterion, optimizer, scaler, epoch, args):
    losses, top1, top5 = AverageMeter("Loss"), AverageMeter("Acc@1"), AverageMeter("Acc@5")
    model.train()
    end = time.time()
    for i, (images, target) in enumerate(loader):
        images = images.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        with torch.amp.autocast("cuda", enabled=args.amp):
            output = model(images)
            loss = criterion(output, target)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0].item(), images.size(0))
        top5.update(acc5[0].item(), images.size(0))

        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if i % 2 == 0:
            print(f"Epoch [{epoch}][{i}/{len(loader)}] {losses} {top1} {top5} time {time.time() - end:.2f}")


def validate(loader, model, criterion, args):
    losses, top1 = AverageMeter("Loss"), AverageMeter("Acc@1")
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            images = images.cuda(non_blocking=True)
            target = target.cuda(non_blocking=True)
            output = model(images)
            loss = criterion(output, target)
            acc1, = accuracy(output, target)
            losses.update(loss.item(), images.size(0))
            top1.update(acc1[0].item(), images.size(0))
    print(f" * {top1} {losses}")
    return top1.avg


def main():
    p = argparse.ArgumentParser(description="flowers-102 style training")
    p.add_argument("--arch", default="resnet50")
    p.add_argument("-b", "--batch-size", default=64, type=int)
    p.add_argument("--epochs", default=2, type=int)
    p.add_argument("--lr", default=0.1, type=float)
    p.add_argument("--momentum", default=0.9, type=float)
    p.add_argument("--wd", default=1e-4, type=float)
    p.add_argument("--amp", action="store_true")
    p.add_argument("--num-classes", default=102, type=int)
    args = p.parse_args()

    model = models.__dict__[args.arch](weights=None)
    model.fc = nn.Linear(model.fc.in_features, args.num_classes)
    model = model.cuda()

    normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    tf_train = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize])
    tf_val = transforms.Compose([transforms.ToTensor(), normalize])
    train_set = FakeData(320, (3, 224, 224), args.num_classes, tf_train)
    val_set = FakeData(160, (3, 224, 224), args.num_classes, tf_val, random_offset=1000)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=4, pin_memory=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, num_workers=4, pin_memory=True)

    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.wd)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)

    best = 0
    ckpt = os.path.join(tempfile.gettempdir(), "checkpoint_flowers.pth.tar")
    for epoch in range(args.epochs):
        train(train_loader, model, criterion, optimizer, scaler, epoch, args)
        acc = validate(val_loader, model, criterion, args)
        scheduler.step()
        if acc >= best:
            best = acc
            torch.save({"epoch": epoch + 1, "state_dict": model.state_dict(), "best": best, "optimizer": optimizer.state_dict()}, ckpt)
    os.remove(ckpt)


if __name__ == "__main__":
    main()
