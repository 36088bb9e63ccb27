# T5 summarization, plain pytorch loop
import json

import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import T5Config, T5ForConditionalGeneration

with open("config.json") as f:
    hp = json.load(f)

device = torch.device("cuda:0")


class SummaryDataset(Dataset):
    def __init__(self, n, source_len, summ_len, vocab=32000, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.src = torch.randint(3, vocab, (n, source_len), generator=g)
        self.tgt = torch.randint(3, vocab, (n, summ_len), generator=g)
        self.src_lens = torch.randint(source_len // 2, source_len + 1, (n,), generator=g)
        self.tgt_lens = torch.randint(summ_len // 2, summ_len + 1, (n,), generator=g)

    def __len__(self):
        return self.src.size(0)

    def __getitem__(self, index):
        src = self.src[index].clone()
        tgt = self.tgt[index].clone()
        src[self.src_lens[index]:] = 0
        tgt[self.tgt_lens[index] - 1] = 1
        tgt[self.tgt_lens[index]:] = 0
        return {
            "source_ids": src,
            "source_mask": (src != 0).long(),
            "target_ids": tgt,
        }


def train(epoch, model, loader, optimizer):
    model.train()
    for step, data in enumerate(loader):
        y = data["target_ids"].to(device, dtype=torch.long)
        lm_labels = y.clone().detach()
        lm_labels[y == 0] = -100
        ids = data["source_ids"].to(device, dtype=torch.long)
        mask = data["source_mask"].to(device, dtype=torch.long)

        outputs = model(input_ids=ids, attention_mask=mask, labels=lm_labels)
        loss = outputs[0]

        if step % 2 == 0:
            print(f"Epoch: {epoch}, step {step}, Loss: {loss.item()}")

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, loader):
    model.eval()
    predictions, actuals = [], []
    with torch.no_grad():
        for data in loader:
            ids = data["source_ids"].to(device, dtype=torch.long)
            mask = data["source_mask"].to(device, dtype=torch.long)
            generated_ids = model.generate(
                input_ids=ids, attention_mask=mask, max_new_tokens=16, num_beams=2, early_stopping=True,
            )
            predictions.extend(generated_ids.cpu().tolist())
            actuals.extend(data["target_ids"].tolist())
    return predictions, actuals


def main():
    torch.manual_seed(hp["seed"])
    config = T5Config(**hp["t5"])
    model = T5ForConditionalGeneration(config)
    model = model.to(device)
    train_set = SummaryDataset(hp["train_size"], hp["max_len"], hp["summary_len"])
    val_set = SummaryDataset(hp["val_size"], hp["max_len"], hp["summary_len"], seed=1)
    train_loader = DataLoader(train_set, batch_size=hp["train_batch_size"], shuffle=True, num_workers=0)
    val_loader = DataLoader(val_set, batch_size=hp["valid_batch_size"], shuffle=False, num_workers=0)
    optimizer = AdamW(params=model.parameters(), lr=hp["lr"])
    for epoch in range(hp["epochs"]):
        train(epoch, model, train_loader, optimizer)
    preds, acts = validate(model, val_loader)
    print(len(preds), len(acts))


if __name__ == "__main__":
    main()
