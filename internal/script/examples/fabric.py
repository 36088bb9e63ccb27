# SPDX-License-Identifier: Apache-2.0
# A loop that uses Lightning's Fabric, as in its documentation.
import lightning as L
import torch
from snug import load_model, loader, settings


def main():
    precision = {"amp-bf16": "bf16-mixed", "amp-fp16": "16-mixed", "bf16": "bf16-true", "fp16": "16-true"}.get(settings.precision, "32-true")
    fabric = L.Fabric(accelerator="cuda", devices=1, precision=precision)
    fabric.launch()
    model = load_model()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer = fabric.setup(model, optimizer)
    dataloader = fabric.setup_dataloaders(loader)
    model.train()
    for step, batch in enumerate(dataloader):
        outputs = model(**batch)
        loss = outputs.loss / settings.accumulation
        fabric.backward(loss)
        if (step + 1) % settings.accumulation == 0:
            if settings.clip:
                fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()


main()
