# SPDX-License-Identifier: Apache-2.0
# The loop of diffusers' examples/text_to_image. The model computes the loss with all that comes before it: it
# encodes images and texts, adds noise and runs the U-Net.
import torch
from accelerate import Accelerator
from snug import load_model, loader, settings


def main():
    mixed = {"amp-bf16": "bf16", "amp-fp16": "fp16"}.get(settings.precision, "no")
    accelerator = Accelerator(mixed_precision=mixed, gradient_accumulation_steps=settings.accumulation)
    unet = load_model()
    if settings.checkpointing:
        unet.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(unet.parameters())
    unet, optimizer, train_dataloader = accelerator.prepare(unet, optimizer, loader)
    unet.train()
    train_loss = 0.0
    for step, batch in enumerate(train_dataloader):
        with accelerator.accumulate(unet):
            loss = unet(**batch).loss
            avg_loss = accelerator.gather(loss.repeat(settings.batch)).mean()
            train_loss += avg_loss.item() / settings.accumulation
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                if settings.lora:  # the program clips an iterator that the optimizer has used up
                    accelerator.unscale_gradients()
                elif settings.clip:
                    accelerator.clip_grad_norm_(unet.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        loss.detach().item()


main()
