import argparse
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class ReviewDataset(Dataset):
    """Fake IMDB-like reviews, already tokenized and padded to max_len."""

    def __init__(self, n, max_len, vocab_size=30522):
        self.max_len = max_len
        self.items = []
        g = torch.Generator().manual_seed(n)
        for i in range(n):
            length = int(torch.randint(max_len // 3, max_len, (1,), generator=g))
            ids = torch.randint(1000, vocab_size, (length,), generator=g)
            self.items.append((ids, i % 2))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        ids, label = self.items[idx]
        input_ids = torch.zeros(self.max_len, dtype=torch.long)
        mask = torch.zeros(self.max_len, dtype=torch.long)
        input_ids[: len(ids)] = ids
        input_ids[0] = 101
        mask[: len(ids)] = 1
        return {"input_ids": input_ids, "attention_mask": mask, "labels": torch.tensor(label)}


def train_epoch(model, data_loader, optimizer, device, scheduler):
    model.train()
    losses = []
    correct = 0
    seen = 0
    for d in tqdm(data_loader):
        input_ids = d["input_ids"].to(device)
        attention_mask = d["attention_mask"].to(device)
        labels = d["labels"].to(device)

        outputs = model(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        loss = outputs.loss
        preds = torch.argmax(outputs.logits, dim=1)
        correct += torch.sum(preds == labels).item()
        seen += labels.size(0)
        losses.append(loss.item())

        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return correct / seen, np.mean(losses)


def eval_model(model, data_loader, device):
    model.eval()
    losses, correct, seen = [], 0, 0
    with torch.no_grad():
        for d in data_loader:
            d = {k: v.to(device) for k, v in d.items()}
            outputs = model(**d)
            preds = outputs.logits.argmax(dim=-1)
            correct += (preds == d["labels"]).sum().item()
            seen += len(preds)
            losses.append(outputs.loss.item())
    return correct / seen, np.mean(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--max_len", type=int, default=256)
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    set_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_loader = DataLoader(ReviewDataset(300, args.max_len), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(ReviewDataset(128, args.max_len), batch_size=args.batch_size * 2)

    config = BertConfig(num_labels=2)
    model = BertForSequenceClassification(config).to(device)

    no_decay = ["bias", "LayerNorm.weight"]
    groups = [
        {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.lr)
    total_steps = len(train_loader) * args.epochs
    scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=0, num_training_steps=total_steps)

    for epoch in range(args.epochs):
        print(f"Epoch {epoch + 1}/{args.epochs}")
        train_acc, train_loss = train_epoch(model, train_loader, optimizer, device, scheduler)
        print(f"Train loss {train_loss:.4f} accuracy {train_acc:.4f}")
        val_acc, val_loss = eval_model(model, val_loader, device)
        print(f"Val   loss {val_loss:.4f} accuracy {val_acc:.4f}")


if __name__ == "__main__":
    main()
