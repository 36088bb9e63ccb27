import argparse
import torch
from transformers import (AutoConfig, AutoModelForImageClassification, EarlyStoppingCallback, Trainer, TrainingArguments)

parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--optim", default="adamw_torch")
parser.add_argument("--bf16", action="store_true")
args = parser.parse_args()

config = AutoConfig.from_pretrained(args.config, num_labels=10)


class Pictures(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return {"pixel_values": torch.randn(3, config.image_size, config.image_size, generator=g), "labels": i % 10}


def compute_metrics(p):
    return {"accuracy": float((p.predictions.argmax(1) == p.label_ids).mean())}


training_args = TrainingArguments(
    output_dir="vit-out",
    per_device_train_batch_size=args.batch_size,
    per_device_eval_batch_size=args.batch_size,
    num_train_epochs=2,
    eval_strategy="epoch",
    save_strategy="epoch",
    save_total_limit=1,
    load_best_model_at_end=True,
    metric_for_best_model="accuracy",
    optim=args.optim,
    bf16=args.bf16,
    learning_rate=1e-4,
    logging_steps=2,
    report_to="none",
)
trainer = Trainer(
    model_init=lambda: AutoModelForImageClassification.from_config(config),
    args=training_args,
    train_dataset=Pictures(4 * args.batch_size),
    eval_dataset=Pictures(2 * args.batch_size),
    compute_metrics=compute_metrics,
    callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
)
trainer.train()
print(trainer.evaluate())
