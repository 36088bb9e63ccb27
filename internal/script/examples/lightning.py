# SPDX-License-Identifier: Apache-2.0
# A LightningModule around a transformers model.
import lightning as L
import torch
from snug import eval_loader, load_model, loader, settings


class LanguageModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = load_model()
        self.kept = []

    def training_step(self, batch, batch_idx):
        outputs = self.model(**batch)
        self.log("train_loss", outputs.loss)
        return outputs.loss

    def validation_step(self, batch, batch_idx):
        outputs = self.model(**batch)
        if settings.evaluation.keeps_logits:
            self.kept.append(outputs.logits)
        self.log("val_loss", outputs.loss)

    def on_validation_epoch_end(self):
        self.kept.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


precision = {"amp-bf16": "bf16-mixed", "amp-fp16": "16-mixed", "bf16": "bf16-true", "fp16": "16-true"}.get(settings.precision, "32-true")
every = settings.evaluation.every * settings.accumulation if settings.evaluation else None
trainer = L.Trainer(precision=precision, gradient_clip_val=1.0 if settings.clip else None, accumulate_grad_batches=settings.accumulation,
                    val_check_interval=every, check_val_every_n_epoch=None if settings.evaluation else 1)
trainer.fit(LanguageModel(), loader, eval_loader if settings.evaluation else None)
