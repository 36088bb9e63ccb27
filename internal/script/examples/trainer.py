# SPDX-License-Identifier: Apache-2.0
# transformers' Trainer, with the setup's arguments.
from snug import load_model, loader, settings
from transformers import Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=settings.batch,
    gradient_accumulation_steps=settings.accumulation,
    gradient_checkpointing=settings.checkpointing,
    max_grad_norm=1.0 if settings.clip else 0.0,
    bf16=settings.precision == "amp-bf16",
    fp16=settings.precision == "amp-fp16",
)
model = load_model()
trainer = Trainer(model=model, args=args, train_dataset=loader.dataset)
trainer.train()
