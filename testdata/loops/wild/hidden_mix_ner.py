import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModel

TAGS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]


class MixedTagger(nn.Module):
    """Token tagger on a learned mixture of all hidden layers."""

    def __init__(self, config):
        super().__init__()
        self.encoder = AutoModel.from_config(config)
        n = config.num_hidden_layers + 1
        self.mix = nn.Parameter(torch.zeros(n))
        self.gamma = nn.Parameter(torch.ones(()))
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(config.hidden_size, len(TAGS))

    def forward(self, input_ids, attention_mask, labels=None):
        outputs = self.encoder(input_ids, attention_mask=attention_mask, output_hidden_states=True)
        stacked = torch.stack(outputs.hidden_states, dim=0)
        weights = torch.softmax(self.mix, dim=0).view(-1, 1, 1, 1)
        mixed = self.gamma * (weights * stacked).sum(0)
        logits = self.classifier(self.dropout(mixed))
        if labels is None:
            return logits
        active = attention_mask.view(-1) == 1
        loss = nn.functional.cross_entropy(logits.view(-1, len(TAGS))[active], labels.view(-1)[active])
        return loss, logits


def collate(batch):
    lengths = [len(x) for x, _ in batch]
    width = max(lengths)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    mask = torch.zeros(len(batch), width, dtype=torch.long)
    tags = torch.zeros(len(batch), width, dtype=torch.long)
    for i, (x, y) in enumerate(batch):
        ids[i, : len(x)], mask[i, : len(x)], tags[i, : len(x)] = x, 1, y
    return ids, mask, tags


def sentences(n, seq_len, vocab):
    result = []
    for i in range(n):
        length = seq_len if i % 2 == 0 else max(2, seq_len // 2)
        result.append((torch.randint(5, vocab, (length,)), torch.randint(0, len(TAGS), (length,))))
    return result


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--epochs", type=int, default=2)
    a = ap.parse_args()
    device = "cuda"
    config = AutoConfig.from_pretrained(a.config)
    model = MixedTagger(config).to(device)
    train_loader = DataLoader(sentences(a.batch_size * 4, a.seq_len, config.vocab_size), a.batch_size, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(sentences(a.batch_size * 2, a.seq_len, config.vocab_size), a.batch_size, collate_fn=collate)
    optimizer = torch.optim.Adamax(model.parameters(), lr=5e-5)

    for epoch in range(a.epochs):
        model.train()
        for batch in train_loader:
            ids, mask, tags = [t.to(device) for t in batch]
            loss, _ = model(ids, mask, tags)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        y_true, y_pred = [], []
        with torch.no_grad():
            for batch in dev_loader:
                ids, mask, tags = [t.to(device) for t in batch]
                logits = model(ids, mask)
                y_true += tags[mask.bool()].tolist()
                y_pred += logits.argmax(-1)[mask.bool()].tolist()
        hits = sum(t == p for t, p in zip(y_true, y_pred))
        print(f"epoch {epoch} loss {loss.item():.4f} dev accuracy {hits / len(y_true):.4f}")


if __name__ == "__main__":
    main()
