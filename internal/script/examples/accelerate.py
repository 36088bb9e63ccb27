# SPDX-License-Identifier: Apache-2.0
# A loop that uses accelerate, as in its examples.
import torch
from accelerate import Accelerator
from snug import eval_loader, load_model, loader, settings


def main():
    mixed = {"amp-bf16": "bf16", "amp-fp16": "fp16"}.get(settings.precision, "no")
    accelerator = Accelerator(mixed_precision=mixed, gradient_accumulation_steps=settings.accumulation)
    model = load_model()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(model, optimizer, loader, eval_loader)
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
        if settings.evaluation and (step + 1) % (settings.evaluation.every * settings.accumulation) == 0:
            model.eval()
            kept = []
            for eval_step, batch in enumerate(eval_dataloader):
                with torch.no_grad():
                    outputs = model(**batch)
                if settings.evaluation.keeps_logits:
                    kept.append(accelerator.gather_for_metrics(outputs.logits))
            model.train()


main()
