# SPDX-License-Identifier: Apache-2.0
# LLaMA-Factory's stage kto, with the setup's arguments.
from llamafactory import CustomKTOTrainer, KTODataCollatorWithPadding
from snug import eval_loader, load_model, load_reference, loader, settings
from transformers import TrainingArguments

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
trainer = CustomKTOTrainer(
    model=load_model("saved"),
    ref_model=load_reference("saved") if settings.compares_with == "model" else None,
    args=args,
    data_collator=KTODataCollatorWithPadding(),
    train_dataset=loader.dataset,
    eval_dataset=eval_loader.dataset if settings.evaluation else None,
)
trainer.train()
