# SPDX-License-Identifier: Apache-2.0
# Axolotl's rl dpo and ipo (0.19, core/trainers/dpo/trainer.py), with the setup's arguments.
import torch
from snug import eval_loader, load_model, load_reference, loader, settings
from trl import DPOConfig, DPOTrainer


class AxolotlDPOTrainer(DPOTrainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        torch.cuda.empty_cache()
        return loss


args = DPOConfig(
    output_dir="out",
    per_device_train_batch_size=settings.batch,
    gradient_accumulation_steps=settings.accumulation,
    gradient_checkpointing=settings.checkpointing,
    max_grad_norm=1.0 if settings.clip else 0.0,
    bf16=settings.precision == "amp-bf16",
    fp16=settings.precision == "amp-fp16",
    eval_strategy="steps" if settings.evaluation else "no",
    eval_steps=settings.evaluation.every if settings.evaluation else None,
    per_device_eval_batch_size=settings.evaluation.batch if settings.evaluation else 8,
)
trainer = AxolotlDPOTrainer(
    model=load_model(),
    ref_model=load_reference() if settings.compares_with == "model" else None,
    args=args,
    train_dataset=loader.dataset,
    eval_dataset=eval_loader.dataset if settings.evaluation else None,
)
trainer.train()
