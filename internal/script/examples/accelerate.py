# SPDX-License-Identifier: Apache-2.0
# A loop that uses accelerate, as in its examples.
import torch
from accelerate import Accelerator
from snug import load_model, loader, settings


def main():
    mixed = {"amp-bf16": "bf16", "amp-fp16": "fp16"}.get(settings.precision, "no")
    accelerator = Accelerator(mixed_precision=mixed, gradient_accumulation_steps=settings.accumulation)
    model = load_model()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, train_dataloader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for step, batch in enumerate(train_dataloader):
        with accelerator.accumulate(model):
            outputs = model(**batch)
            loss = outputs.loss
            accelerator.backward(loss)
            if settings.clip and accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


main()
