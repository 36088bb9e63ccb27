import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

MAX_LEN = 256
NUM_LABELS = 6


class ToxicDS(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        ids = torch.randint(1000, 28000, (MAX_LEN,), generator=g)
        ids[0] = 101
        ids[-1] = 102
        return dict(
            input_ids=ids,
            attention_mask=torch.ones(MAX_LEN, dtype=torch.long),
            token_type_ids=torch.zeros(MAX_LEN, dtype=torch.long),
            labels=(torch.rand(NUM_LABELS, generator=g) > 0.8).float(),
        )


class FocalTrainer(Trainer):
    def __init__(self, *args, gamma=2.0, alpha=0.25, **kw):
        super().__init__(*args, **kw)
        self.gamma = gamma
        self.alpha = alpha

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits
        bce = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        p = torch.sigmoid(logits)
        pt = p * labels + (1 - p) * (1 - labels)
        a = self.alpha * labels + (1 - self.alpha) * (1 - labels)
        loss = (a * (1 - pt) ** self.gamma * bce).mean()
        return (loss, outputs) if return_outputs else loss


class PrintLoss(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero:
            print(state.global_step, {k: v for k, v in (logs or {}).items() if "loss" in k})


def metrics(eval_pred):
    logits, labels = eval_pred
    preds = (logits > 0).astype("int")
    return {"acc": float((preds == labels).mean())}


if __name__ == "__main__":
    set_seed(7)
    config = BertConfig(num_labels=NUM_LABELS, problem_type="multi_label_classification")
    model = BertForSequenceClassification(config)

    training_args = TrainingArguments(
        output_dir="./out",
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=2,
        max_steps=6,
        learning_rate=2e-5,
        weight_decay=0.01,
        fp16=True,
        eval_strategy="steps",
        eval_steps=3,
        logging_steps=2,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_num_workers=0,
    )
    trainer = FocalTrainer(
        model=model,
        args=training_args,
        train_dataset=ToxicDS(640),
        eval_dataset=ToxicDS(150),
        compute_metrics=metrics,
        callbacks=[PrintLoss()],
    )
    trainer.train()
    print(trainer.evaluate())
