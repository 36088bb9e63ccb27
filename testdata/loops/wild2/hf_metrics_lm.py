import argparse
import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

ap = argparse.ArgumentParser()
ap.add_argument("--config", required=True)
ap.add_argument("--batch-size", type=int, default=4)
ap.add_argument("--seq-len", type=int, default=256)
ap.add_argument("--eval-examples", type=int, default=8)
ap.add_argument("--argmax-first", action="store_true", help="reduce the logits before they are gathered")
args = ap.parse_args()

config = AutoConfig.from_pretrained(args.config)
model = AutoModelForCausalLM.from_config(config)


def rows(n):
    return [{"input_ids": (t := torch.randint(config.vocab_size, (args.seq_len,))), "labels": t.clone()} for _ in range(n)]


def preprocess_logits(logits, labels):
    if isinstance(logits, tuple):
        logits = logits[0]
    return logits.argmax(dim=-1)


def compute_metrics(eval_pred):
    preds, labels = eval_pred
    if preds.ndim == 3:
        preds = np.argmax(preds, axis=-1)
    return {"accuracy": float((preds[:, :-1] == labels[:, 1:]).mean())}


training_args = TrainingArguments(
    output_dir="lm-out",
    num_train_epochs=2,
    per_device_train_batch_size=args.batch_size,
    per_device_eval_batch_size=args.batch_size,
    gradient_accumulation_steps=2,
    eval_strategy="epoch",
    save_strategy="no",
    bf16=True,
    logging_strategy="epoch",
    report_to=[],
)
trainer = Trainer(
    model=model,
    args=training_args,
    train_dataset=rows(6 * args.batch_size),
    eval_dataset=rows(args.eval_examples),
    data_collator=default_data_collator,
    compute_metrics=compute_metrics,
    preprocess_logits_for_metrics=preprocess_logits if args.argmax_first else None,
)
trainer.train()
print(trainer.evaluate())
