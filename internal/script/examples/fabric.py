# SPDX-License-Identifier: Apache-2.0
# A loop that uses Lightning's Fabric, as in its documentation.
import lightning as L
import torch
from snug import eval_loader, load_model, loader, settings


@torch.no_grad()
def evaluate(model, dataloader):
    model.eval()
    kept = []
    for batch in dataloader:
        outputs = model(**batch)
        if settings.evaluation.keeps_logits:
            kept.append(outputs.logits)
    model.train()


def main():
    precision = {"amp-bf16": "bf16-mixed", "amp-fp16": "16-mixed", "bf16": "bf16-true", "fp16": "16-true"}.get(settings.precision, "32-true")
    fabric = L.Fabric(accelerator="cuda", devices=1, precision=precision)
    fabric.launch()
    model = load_model()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer = fabric.setup(model, optimizer)
    dataloader = fabric.setup_dataloaders(loader)
    eval_dataloader = fabric.setup_dataloaders(eval_loader)
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
        if settings.evaluation and (step + 1) % (settings.evaluation.every * settings.accumulation) == 0:
            evaluate(model, eval_dataloader)


main()
