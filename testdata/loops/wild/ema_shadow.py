import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForCausalLM


class EMA():
    def __init__(self, model, decay):
        self.model = model
        self.decay = decay
        self.shadow = {}
        self.backup = {}

    def register(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                self.shadow[name] = param.data.clone()

    def update(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                assert name in self.shadow
                new_average = (1.0 - self.decay) * param.data + self.decay * self.shadow[name]
                self.shadow[name] = new_average.clone()

    def apply_shadow(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                self.backup[name] = param.data
                param.data = self.shadow[name]

    def restore(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                param.data = self.backup[name]
        self.backup = {}


def evaluate(model, loader, device):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for (ids,) in loader:
            ids = ids.to(device)
            total += model(input_ids=ids, labels=ids).loss.item()
    model.train()
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--ema-decay", type=float, default=0.999)
    args = parser.parse_args()
    device = torch.device("cuda")

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to(device)
    train_set = TensorDataset(torch.randint(0, config.vocab_size, (args.batch_size * 4, args.seq_len)))
    valid_set = TensorDataset(torch.randint(0, config.vocab_size, (args.batch_size * 2, args.seq_len)))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=args.batch_size)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ema = EMA(model, args.ema_decay)
    ema.register()

    model.train()
    for epoch in range(2):
        for (ids,) in train_loader:
            ids = ids.to(device)
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            ema.update()
        ema.apply_shadow()
        print("epoch", epoch, "valid", evaluate(model, valid_loader, device))
        ema.restore()


main()
