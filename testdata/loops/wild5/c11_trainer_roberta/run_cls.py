import tempfile

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score
from transformers import (
    RobertaConfig,
    RobertaForSequenceClassification,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)

NUM_LABELS = 5
MAX_LENGTH = 192


class TicketDataset(torch.utils.data.Dataset):
    def __init__(self, num, seed):
        rng = np.random.RandomState(seed)
        self.rows = []
        for _ in range(num):
            label = rng.randint(NUM_LABELS)
            n = rng.randint(40, MAX_LENGTH)
            ids = rng.randint(5, 50000, size=n).tolist()
            ids = [0] + ids[: MAX_LENGTH - 2] + [2]
            attn = [1] * len(ids) + [0] * (MAX_LENGTH - len(ids))
            ids = ids + [1] * (MAX_LENGTH - len(ids))
            self.rows.append({"input_ids": ids, "attention_mask": attn, "labels": int(label)})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, idx):
        return self.rows[idx]


def compute_metrics(pred):
    labels = pred.label_ids
    preds = pred.predictions.argmax(-1)
    return {
        "accuracy": accuracy_score(labels, preds),
        "f1": f1_score(labels, preds, average="macro"),
    }


if __name__ == "__main__":
    set_seed(42)
    config = RobertaConfig(
        vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5,
        num_labels=NUM_LABELS, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )
    model = RobertaForSequenceClassification(config)

    with tempfile.TemporaryDirectory() as out:
        training_args = TrainingArguments(
            output_dir=out,
            num_train_epochs=1,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=64,
            gradient_accumulation_steps=2,
            learning_rate=2e-5,
            weight_decay=0.01,
            warmup_steps=2,
            fp16=True,
            eval_strategy="epoch",
            save_strategy="no",
            logging_steps=2,
            report_to="none",
        )
        trainer = Trainer(
            model=model,
            args=training_args,
            train_dataset=TicketDataset(640, 0),
            eval_dataset=TicketDataset(200, 1),
            data_collator=default_data_collator,
            compute_metrics=compute_metrics,
        )
        trainer.train()
        print(trainer.evaluate())
