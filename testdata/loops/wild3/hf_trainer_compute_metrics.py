"""The Trainer with its own model class, compute_metrics and a data collator."""
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    config: str = field(metadata={"help": "folder of the model's configuration"})
    seq_len: int = field(default=128)


class Rows(torch.utils.data.Dataset):
    def __init__(self, n, vocab, length):
        self.ids = torch.randint(0, vocab, (n, length))
        self.labels = torch.randint(0, 4, (n,))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones_like(self.ids[i]), "labels": self.labels[i]}


def compute_metrics(pred):
    logits, labels = pred
    return {"accuracy": float((np.argmax(logits, axis=-1) == labels).mean())}


def main():
    model_args, training_args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
    config = AutoConfig.from_pretrained(model_args.config, num_labels=4)
    model = AutoModelForSequenceClassification.from_config(config)
    size = training_args.per_device_train_batch_size
    train = Rows(size * 6, config.vocab_size, model_args.seq_len)
    test = Rows(training_args.per_device_eval_batch_size * 3, config.vocab_size, model_args.seq_len)
    trainer = Trainer(model=model, args=training_args, train_dataset=train, eval_dataset=test, compute_metrics=compute_metrics)
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
