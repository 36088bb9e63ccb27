import argparse
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification


def compute_kl_loss(p, q, pad_mask=None):
    p_loss = F.kl_div(F.log_softmax(p, dim=-1), F.softmax(q, dim=-1), reduction="none")
    q_loss = F.kl_div(F.log_softmax(q, dim=-1), F.softmax(p, dim=-1), reduction="none")
    if pad_mask is not None:
        p_loss.masked_fill_(pad_mask, 0.0)
        q_loss.masked_fill_(pad_mask, 0.0)
    return (p_loss.sum() + q_loss.sum()) / 2


class Pairs(Dataset):
    def __init__(self, vocab, seq_len, n, labels):
        self.x = torch.randint(3, vocab, (n, seq_len))
        self.y = torch.randint(0, labels, (n,))

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


class Runner:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda")
        config = AutoConfig.from_pretrained(args.config)
        config.num_labels = 6
        self.model = AutoModelForSequenceClassification.from_config(config).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.loader = DataLoader(Pairs(config.vocab_size, args.seq_len, args.batch_size * 6, 6), batch_size=args.batch_size, shuffle=True)
        self.state = {"step": 0, "loss": None, "kl": None}

    def compute_loss(self, batch):
        first = self.model(input_ids=batch["input_ids"]).logits
        second = self.model(input_ids=batch["input_ids"]).logits
        ce = 0.5 * (F.cross_entropy(first, batch["labels"]) + F.cross_entropy(second, batch["labels"]))
        kl = compute_kl_loss(first, second)
        self.state["kl"] = kl
        return ce + self.args.alpha * kl

    def train(self):
        self.model.train()
        for batch in self.loader:
            batch = {k: v.to(self.device) for k, v in batch.items()}
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.compute_loss(batch)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.state["step"] += 1
            self.state["loss"] = loss
            print({k: float(v) for k, v in self.state.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--alpha", type=float, default=4.0)
    parser.add_argument("--lr", type=float, default=1e-5)
    Runner(parser.parse_args()).train()
