# Continue-pretraining of a causal LM, progress bar version
import argparse
import random

import numpy as np
import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, get_linear_schedule_with_warmup


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class RandomTokens(Dataset):
    def __init__(self, n, length, vocab):
        self.ids = np.random.randint(0, vocab, size=(n, length))

    def __len__(self):
        return self.ids.shape[0]

    def __getitem__(self, i):
        ids = torch.from_numpy(self.ids[i]).long()
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--warmup-ratio", type=float, default=0.1)
    args = parser.parse_args()

    set_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to(device)

    train_ds = RandomTokens(4 * args.batch_size, args.seq_len, config.vocab_size)
    loader = DataLoader(train_ds, batch_size=args.batch_size, shuffle=True, pin_memory=torch.cuda.is_available())

    optimizer = AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    total = len(loader) * args.epochs
    scheduler = get_linear_schedule_with_warmup(optimizer, int(total * args.warmup_ratio), total)

    model.train()
    for epoch in range(args.epochs):
        pbar = tqdm(loader, desc=f"epoch {epoch + 1}/{args.epochs}", leave=False)
        running = 0.0
        for step, batch in enumerate(pbar, start=1):
            batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
            outputs = model(**batch)
            loss = outputs.loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            running += loss.item()
            pbar.set_postfix(loss=f"{running / step:.3f}", lr=f"{scheduler.get_last_lr()[0]:.1e}")
        print(f"epoch {epoch}: mean loss {running / len(loader):.4f}")


if __name__ == "__main__":
    main()
