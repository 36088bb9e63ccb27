import argparse
from collections import defaultdict

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification


class ReviewDataset(Dataset):
    def __init__(self, reviews, targets):
        self.reviews = reviews
        self.targets = targets

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, item):
        review = self.reviews[item]
        return {
            "ids": review.to(torch.long),
            "mask": torch.ones(len(review), dtype=torch.long),
            "targets": torch.tensor(self.targets[item], dtype=torch.long),
        }


def create_data_loader(n, seq_len, vocab, batch_size, shuffle=False):
    ds = ReviewDataset(torch.randint(10, vocab - 100, (n, seq_len)), [i % 5 for i in range(n)])
    return DataLoader(ds, batch_size=batch_size, num_workers=0, shuffle=shuffle)


def train_epoch(model, data_loader, optimizer, device):
    model = model.train()
    losses = []
    correct_predictions = 0
    for d in data_loader:
        input_ids = d["ids"].to(device)
        attention_mask = d["mask"].to(device)
        targets = d["targets"].to(device)
        outputs = model(input_ids=input_ids, attention_mask=attention_mask, labels=targets)
        _, preds = torch.max(outputs.logits, dim=1)
        correct_predictions += torch.sum(preds == targets)
        losses.append(outputs.loss.item())
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
    return correct_predictions.double() / len(data_loader.dataset), sum(losses) / len(losses)


def get_predictions(model, data_loader, device):
    model = model.eval()
    all_logits, all_targets = [], []
    with torch.inference_mode():
        for d in data_loader:
            outputs = model(input_ids=d["ids"].to(device), attention_mask=d["mask"].to(device))
            all_logits.append(outputs.logits)
            all_targets.append(d["targets"].to(device))
    return torch.cat(all_logits), torch.cat(all_targets)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    config = AutoConfig.from_pretrained(args.config, num_labels=5)
    model = AutoModelForSequenceClassification.from_config(config).to(device)
    train_data_loader = create_data_loader(args.batch_size * 4, args.seq_len, config.vocab_size, args.batch_size, True)
    val_data_loader = create_data_loader(args.batch_size * 2, args.seq_len, config.vocab_size, args.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)

    history = defaultdict(list)
    for epoch in range(args.epochs):
        train_acc, train_loss = train_epoch(model, train_data_loader, optimizer, device)
        logits, targets = get_predictions(model, val_data_loader, device)
        val_acc = (logits.argmax(1) == targets).double().mean()
        history["train_acc"].append(train_acc)
        history["train_loss"].append(train_loss)
        history["val_acc"].append(val_acc)
        print(f"Epoch {epoch + 1}/{args.epochs}", float(train_acc), train_loss, float(val_acc))
