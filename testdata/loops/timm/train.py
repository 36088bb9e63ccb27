import argparse

import timm
import timm.optim
import torch
import torch.nn as nn
from timm.utils import AverageMeter, ModelEmaV2


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, args, amp_autocast, model_ema=None):
    losses_m = AverageMeter()
    model.train()
    for batch_idx, (input, target) in enumerate(loader):
        input, target = input.to("cuda"), target.to("cuda")
        with amp_autocast():
            output = model(input)
            loss = loss_fn(output, target)
        losses_m.update(loss.item(), input.size(0))
        optimizer.zero_grad()
        loss.backward()
        if args.clip_grad is not None:
            nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
        optimizer.step()
        if model_ema is not None:
            model_ema.update(model)
        torch.cuda.synchronize()
    return {"loss": losses_m.avg}


def validate(model, loader, loss_fn, amp_autocast):
    losses_m = AverageMeter()
    model.eval()
    with torch.no_grad():
        for batch_idx, (input, target) in enumerate(loader):
            input = input.cuda()
            target = target.cuda()
            with amp_autocast():
                output = model(input)
                loss = loss_fn(output, target)
            losses_m.update(loss.item(), input.size(0))
    return {"loss": losses_m.avg}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--img-size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--opt", default="sgd")
    parser.add_argument("--clip-grad", type=float, default=None)
    parser.add_argument("--model-ema", action="store_true")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--depth", type=int, nargs="*", default=None)
    args = parser.parse_args()

    fewer = {}
    if args.depth:
        fewer = {"depth": args.depth[0]} if len(args.depth) == 1 else {"depths": tuple(args.depth)}
    model = timm.create_model(args.model, pretrained=False, num_classes=1000, **fewer)
    model.to(device="cuda")
    optimizer = timm.optim.create_optimizer_v2(model, opt=args.opt, lr=0.01, momentum=0.9)
    model_ema = ModelEmaV2(model, decay=0.999) if args.model_ema else None
    amp_autocast = lambda: torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.amp)

    def loader(batches):
        return [(torch.randn(args.batch_size, 3, args.img_size, args.img_size), torch.randint(0, 1000, (args.batch_size,))) for _ in range(batches)]

    train_loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    validate_loss_fn = nn.CrossEntropyLoss()
    for epoch in range(2):
        train_metrics = train_one_epoch(epoch, model, loader(args.steps // 2), optimizer, train_loss_fn, args, amp_autocast, model_ema)
        eval_metrics = validate(model, loader(2), validate_loss_fn, amp_autocast)
        print(epoch, train_metrics, eval_metrics)


if __name__ == "__main__":
    main()
