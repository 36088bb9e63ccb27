import argparse
import math
import time

import torch
import torch.nn as nn
import torchvision.models as models

from moco import MoCo

model_names = ["resnet18", "resnet34", "resnet50"]
parser = argparse.ArgumentParser(description="contrastive pretraining")
parser.add_argument("-a", "--arch", default="resnet50", choices=model_names)
parser.add_argument("-b", "--batch-size", default=128, type=int)
parser.add_argument("--epochs", default=2, type=int)
parser.add_argument("--iters", default=5, type=int)
parser.add_argument("--lr", default=0.03, type=float)
parser.add_argument("--moco-k", default=16384, type=int)
parser.add_argument("--img", default=224, type=int)
parser.add_argument("--print-freq", default=1, type=int)


class GpuAugment(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    @torch.no_grad()
    def forward(self, x):
        if torch.rand(1).item() < 0.5:
            x = x.flip(-1)
        b = x.size(0)
        scale = 0.6 + 0.8 * torch.rand(b, 1, 1, 1, device=x.device)
        x = (x * scale).clamp(0, 1)
        gray = x.mean(1, keepdim=True)
        sel = (torch.rand(b, 1, 1, 1, device=x.device) < 0.2).float()
        x = sel * gray + (1 - sel) * x
        mean = torch.tensor([0.485, 0.456, 0.406], device=x.device).view(1, 3, 1, 1)
        std = torch.tensor([0.229, 0.224, 0.225], device=x.device).view(1, 3, 1, 1)
        return (x - mean) / std


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        correct = pred.t().eq(target.view(1, -1))
        return [correct[:k].reshape(-1).float().sum(0) * (100.0 / target.size(0)) for k in topk]


def adjust_learning_rate(optimizer, epoch, args):
    lr = args.lr * 0.5 * (1.0 + math.cos(math.pi * epoch / args.epochs))
    for g in optimizer.param_groups:
        g["lr"] = lr


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    model = MoCo(models.__dict__[args.arch], 128, args.moco_k).cuda()
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    aug = GpuAugment(args.img)
    raw = torch.randint(0, 256, (args.batch_size, 3, args.img, args.img), dtype=torch.uint8)
    ptr = 0
    for epoch in range(args.epochs):
        adjust_learning_rate(optimizer, epoch, args)
        model.train()
        end = time.time()
        for i in range(args.iters):
            x = raw[torch.randperm(args.batch_size)].cuda(non_blocking=True).float() / 255
            im_q, im_k = aug(x), aug(x)
            output, target, ptr = model(im_q, im_k, ptr)
            loss = criterion(output, target)
            acc1, acc5 = accuracy(output, target, topk=(1, 5))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i % args.print_freq == 0:
                print(f"Epoch: [{epoch}][{i}/{args.iters}] Time {time.time() - end:.3f} Loss {loss.item():.4e} "
                      f"Acc@1 {acc1.item():.2f} Acc@5 {acc5.item():.2f}")
            end = time.time()


if __name__ == "__main__":
    main()
