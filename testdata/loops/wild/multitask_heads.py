import argparse
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModel


class MultiTaskModel(nn.Module):
    """One encoder, a sentence head and a token head."""

    def __init__(self, config, n_sentence, n_token):
        super().__init__()
        self.encoder = AutoModel.from_config(config)
        self.dropout = nn.Dropout(0.1)
        self.heads = nn.ModuleDict({
            "sentence": nn.Linear(config.hidden_size, n_sentence),
            "token": nn.Linear(config.hidden_size, n_token),
        })

    def forward(self, input_ids, task=None):
        hidden = self.dropout(self.encoder(input_ids).last_hidden_state)
        if task == "sentence":
            return self.heads["sentence"](hidden.mean(1))
        if task == "token":
            return self.heads["token"](hidden)
        return self.heads["sentence"](hidden.mean(1)), self.heads["token"](hidden)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    random.seed(0)

    device = torch.device("cuda")
    config = AutoConfig.from_pretrained(args.config)
    model = MultiTaskModel(config, 4, 17).to(device)
    n = args.batch_size * 5
    dataset = TensorDataset(
        torch.randint(5, config.vocab_size, (n, args.seq_len)),
        torch.randint(0, 4, (n,)),
        torch.randint(0, 17, (n, args.seq_len)),
    )
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
    ce = nn.CrossEntropyLoss()
    weights = {"sentence": 1.0, "token": 0.5}
    log = {"sentence": [], "token": []}

    for epoch in range(args.epochs):
        model.train()
        for ids, y_sentence, y_token in loader:
            ids, y_sentence, y_token = ids.to(device), y_sentence.to(device), y_token.to(device)
            optimizer.zero_grad()
            sentence_logits, token_logits = model(ids)
            loss_sentence = weights["sentence"] * ce(sentence_logits, y_sentence)
            loss_token = weights["token"] * ce(token_logits.view(-1, 17), y_token.view(-1))
            # one backward per task, the encoder's graph serves both
            loss_sentence.backward(retain_graph=True)
            loss_token.backward()
            optimizer.step()
            log["sentence"].append(loss_sentence.item())
            log["token"].append(loss_token.item())
        print(epoch, {k: sum(v) / len(v) for k, v in log.items()})


if __name__ == "__main__":
    main()
