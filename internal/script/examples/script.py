# SPDX-License-Identifier: Apache-2.0
# The usual tutorial loop, at the top level of a script: outputs and loss keep their values until the next
# forward pass replaces them.
import torch
from snug import eval_loader, load_model, loader, settings

model = load_model().to("cuda")
model.train()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler(enabled=settings.precision == "amp-fp16")

for step, batch in enumerate(loader):
    batch = {k: v.to("cuda") for k, v in batch.items()}
    with torch.autocast("cuda", enabled=settings.precision.startswith("amp-")):
        outputs = model(**batch)
        loss = outputs.loss / settings.accumulation
    scaler.scale(loss).backward()
    if (step + 1) % settings.accumulation == 0:
        if settings.clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=settings.set_to_none)
    if settings.evaluation and (step + 1) % (settings.evaluation.every * settings.accumulation) == 0:
        model.eval()
        kept = []
        with torch.no_grad():
            for batch in eval_loader:
                batch = {k: v.to("cuda") for k, v in batch.items()}
                with torch.autocast("cuda", enabled=settings.precision.startswith("amp-")):
                    outputs = model(**batch)
                if settings.evaluation.keeps_logits:
                    kept.append(outputs.logits)
        model.train()
