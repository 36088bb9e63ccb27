import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification, Trainer, TrainingArguments


class FakeClassification(Dataset):
    def __init__(self, n, seq_len, vocab, labels):
        self.items = [{"input_ids": torch.randint(vocab, (seq_len,)), "attention_mask": torch.ones(seq_len, dtype=torch.long),
                       "labels": torch.tensor(i % labels)} for i in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class FocalTrainer(Trainer):
    """focal loss with class weights"""

    def __init__(self, *args, class_weights=None, gamma=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights
        self.gamma = gamma

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits
        ce = F.cross_entropy(logits, labels, weight=self.class_weights.to(logits.device), reduction="none")
        pt = torch.exp(-ce)
        loss = ((1 - pt) ** self.gamma * ce).mean()
        return (loss, outputs) if return_outputs else loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=256)
    args = parser.parse_args()
    config = AutoConfig.from_pretrained(args.config, num_labels=5)
    model = AutoModelForSequenceClassification.from_config(config)
    targs = TrainingArguments(
        output_dir="out", per_device_train_batch_size=args.batch_size, max_steps=6, learning_rate=2e-5,
        weight_decay=0.01, logging_steps=2, save_strategy="no", report_to="none",
    )
    trainer = FocalTrainer(model=model, args=targs, class_weights=torch.tensor([1.0, 2.0, 1.0, 0.5, 1.5]),
                           train_dataset=FakeClassification(6 * args.batch_size, args.seq_len, config.vocab_size, 5))
    print(trainer.train().metrics)


if __name__ == "__main__":
    main()
