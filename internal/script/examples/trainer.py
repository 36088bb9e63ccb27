# SPDX-License-Identifier: Apache-2.0
# transformers' Trainer, with the setup's arguments.
from snug import eval_loader, load_model, loader, settings
from transformers import Trainer, TrainingArguments

args = TrainingArguments(
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
# The Trainer keeps logits only if metrics are computed from them.
compute_metrics = (lambda prediction: {}) if settings.evaluation and settings.evaluation.keeps_logits else None
model = load_model()
trainer = Trainer(model=model, args=args, train_dataset=loader.dataset,
                  eval_dataset=eval_loader.dataset if settings.evaluation else None, compute_metrics=compute_metrics)
trainer.train()
