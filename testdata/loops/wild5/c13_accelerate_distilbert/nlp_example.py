import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, DistilBertConfig, get_scheduler

MAX_GPU_BATCH_SIZE = 64
EVAL_BATCH_SIZE = 128


def get_dataloaders(batch_size):
    def gen(n, seed):
        g = torch.Generator().manual_seed(seed)
        rows = []
        for _ in range(n):
            n1 = int(torch.randint(20, 100, (1,), generator=g))
            rows.append({"ids": torch.randint(1000, 30000, (n1,), generator=g).tolist(), "label": int(n1 > 60)})
        return rows

    def collate_fn(examples):
        max_length = 128
        ids = [e["ids"] + [0] * (max_length - len(e["ids"])) for e in examples]
        mask = [[1] * len(e["ids"]) + [0] * (max_length - len(e["ids"])) for e in examples]
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(mask),
            "labels": torch.tensor([e["label"] for e in examples]),
        }

    train_dataloader = DataLoader(gen(1024, 0), shuffle=True, collate_fn=collate_fn, batch_size=batch_size, drop_last=True)
    eval_dataloader = DataLoader(gen(300, 1), shuffle=False, collate_fn=collate_fn, batch_size=EVAL_BATCH_SIZE)
    return train_dataloader, eval_dataloader


def training_function(config, args):
    accelerator = Accelerator(mixed_precision=args.mixed_precision, gradient_accumulation_steps=args.gradient_accumulation_steps)
    lr, num_epochs, batch_size = config["lr"], int(config["num_epochs"]), int(config["batch_size"])
    set_seed(config["seed"])

    train_dataloader, eval_dataloader = get_dataloaders(batch_size)
    model = AutoModelForSequenceClassification.from_config(DistilBertConfig(num_labels=2))
    model = model.to(accelerator.device)
    optimizer = AdamW(params=model.parameters(), lr=lr)
    lr_scheduler = get_scheduler(
        "linear", optimizer=optimizer, num_warmup_steps=2, num_training_steps=len(train_dataloader) * num_epochs,
    )
    model, optimizer, train_dataloader, eval_dataloader, lr_scheduler = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader, lr_scheduler
    )

    for epoch in range(num_epochs):
        model.train()
        total_loss = 0
        for step, batch in enumerate(train_dataloader):
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                total_loss += loss.detach().float()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()

        model.eval()
        correct, count = 0, 0
        for step, batch in enumerate(eval_dataloader):
            with torch.no_grad():
                outputs = model(**batch)
            predictions = outputs.logits.argmax(dim=-1)
            predictions, references = accelerator.gather_for_metrics((predictions, batch["labels"]))
            correct += (predictions == references).sum().item()
            count += references.shape[0]
        accelerator.print(f"epoch {epoch}: loss {total_loss.item() / len(train_dataloader):.4f} acc {correct / count:.4f}")


def main():
    parser = argparse.ArgumentParser(description="Simple example of training script.")
    parser.add_argument("--mixed_precision", type=str, default=None, choices=["no", "fp16", "bf16"])
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    args = parser.parse_args()
    config = {"lr": 2e-5, "num_epochs": 1, "seed": 42, "batch_size": MAX_GPU_BATCH_SIZE}
    training_function(config, args)


if __name__ == "__main__":
    main()
