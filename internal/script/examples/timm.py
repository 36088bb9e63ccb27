# SPDX-License-Identifier: Apache-2.0
# timm's train.py (1.0): train_one_epoch and validate, without its prefetcher.
from functools import partial

import torch
from snug import eval_loader, load_model, loader, settings
from timm import LabelSmoothingCrossEntropy, NativeScaler, setup_model, create_optimizer_v2, dispatch_clip_grad

device = torch.device("cuda")


def train_one_epoch(model, loader, optimizer, loss_fn, amp_autocast, loss_scaler):
    model.train()
    accum_steps = settings.accumulation
    optimizer.zero_grad()
    for batch_idx, (input, target) in enumerate(loader):
        need_update = (batch_idx + 1) % accum_steps == 0
        input, target = input.to(device=device), target.to(device=device)

        def _forward():
            with amp_autocast():
                output = model(input)
                loss = loss_fn(output, target)
            if accum_steps > 1:
                loss = loss / accum_steps
            return loss

        def _backward(_loss):
            clip_grad = 1.0 if settings.clip else None
            if loss_scaler is not None:
                loss_scaler(_loss, optimizer, clip_grad=clip_grad, parameters=model.parameters(), need_update=need_update)
            else:
                _loss.backward()
                if need_update:
                    if clip_grad is not None:
                        dispatch_clip_grad(model.parameters(), value=clip_grad)
                    optimizer.step()

        loss = _forward()
        _backward(loss)
        loss.item()
        if not need_update:
            continue
        optimizer.zero_grad()
        if settings.evaluation and (batch_idx + 1) % (settings.evaluation.every * accum_steps) == 0:
            validate(model, eval_loader, amp_autocast)
            model.train()


def validate(model, loader, amp_autocast):
    model.eval()
    kept = []
    with torch.no_grad():
        for batch_idx, (input, target) in enumerate(loader):
            input = input.to(device=device)
            target = target.to(device=device)
            with amp_autocast():
                output = model(input)
            if settings.evaluation.keeps_logits:
                kept.append(output)


def main():
    model = setup_model(settings.model)
    model.to(device=device)
    if settings.checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=0.001, weight_decay=2e-5)
    amp_autocast = partial(torch.autocast, "cuda", enabled=settings.precision.startswith("amp-"))
    loss_scaler = NativeScaler() if settings.precision == "amp-fp16" else None
    train_one_epoch(model, loader, optimizer, LabelSmoothingCrossEntropy(smoothing=0.1), amp_autocast, loss_scaler)


main()
