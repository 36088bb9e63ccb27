import argparse
import re
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification, get_cosine_schedule_with_warmup


class Reviews(Dataset):
    def __init__(self, n, seq_len, vocab):
        self.x = torch.randint(4, vocab, (n, seq_len))
        self.y = torch.rand(n)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return {"input_ids": self.x[idx], "target": self.y[idx]}


def collate(items):
    ids = torch.stack([it["input_ids"] for it in items])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "target": torch.stack([it["target"] for it in items])}


def layerwise_groups(model, base_lr, decay, n_layers):
    groups = {}
    for name, param in model.named_parameters():
        m = re.search(r"\.layers?\.(\d+)\.", name)
        if m:
            depth = n_layers - int(m.group(1))
        elif "embeddings" in name:
            depth = n_layers + 1
        else:
            depth = 0
        wd = 0.0 if param.ndim < 2 else 0.01
        g = groups.setdefault((depth, wd), {"params": [], "lr": base_lr * decay ** depth, "weight_decay": wd})
        g["params"].append(param)
    return list(groups.values())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--llrd", type=float, default=0.9)
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cfg = AutoConfig.from_pretrained(args.config, num_labels=1)
    model = AutoModelForSequenceClassification.from_config(cfg).to(device)
    groups = layerwise_groups(model, 3e-5, args.llrd, cfg.num_hidden_layers)
    print(len(groups), "parameter groups")
    optimizer = torch.optim.AdamW(groups)
    # 5 whole batches and a small rest
    ds = Reviews(5 * args.batch_size + args.batch_size // 2, args.seq_len, cfg.vocab_size)
    dl = DataLoader(ds, batch_size=args.batch_size, shuffle=True, collate_fn=collate, drop_last=False, num_workers=0)
    sched = get_cosine_schedule_with_warmup(optimizer, 2, len(dl))
    criterion = torch.nn.SmoothL1Loss()
    model.train()
    losses = []
    for batch in dl:
        target = batch.pop("target").to(device)
        batch = {k: v.to(device) for k, v in batch.items()}
        pred = model(**batch).logits.squeeze(-1).sigmoid()
        loss = criterion(pred, target)
        loss.backward()
        optimizer.step()
        sched.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    print("mean", torch.stack(losses).mean().item())


main()
