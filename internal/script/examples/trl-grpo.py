# SPDX-License-Identifier: Apache-2.0
# TRL's GRPOTrainer, with the setup's arguments.
from snug import eval_loader, load_model, loader, settings
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(
    output_dir="out",
    per_device_train_batch_size=settings.batch,
    gradient_accumulation_steps=settings.accumulation,
    gradient_checkpointing=settings.checkpointing,
    max_grad_norm=1.0 if settings.clip else 0.0,
    bf16=settings.precision == "amp-bf16",
    fp16=settings.precision == "amp-fp16",
    beta=0.0 if settings.reference in ("", "none") else 0.04,
    max_completion_length=settings.completion or settings.seq // 2,
    eval_strategy="steps" if settings.evaluation else "no",
    eval_steps=settings.evaluation.every if settings.evaluation else None,
    per_device_eval_batch_size=settings.evaluation.batch if settings.evaluation else 8,
)
trainer = GRPOTrainer(model=load_model(), reward_funcs=len, args=args, train_dataset=loader.dataset,
                     eval_dataset=eval_loader.dataset if settings.evaluation else None)
trainer.train()
