"""Phase 1: masked LM on the target domain.  Phase 2: classifier on the same encoder, from the file saved in phase 1."""
import argparse
import os
import tempfile

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForSequenceClassification


def phase_one(args, device, path):
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForMaskedLM.from_config(cfg).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    for i in range(args.pretrain_steps):
        ids = torch.randint(cfg.vocab_size, (args.batch_size, args.seq_len), device=device)
        labels = ids.where(torch.rand(ids.shape, device=device) < 0.15, torch.full_like(ids, -100))
        loss = model(ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("mlm", i, loss.item())
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": i}, path)


def phase_two(args, device, path):
    ckpt = torch.load(path, map_location=device)
    cfg = AutoConfig.from_pretrained(args.config, num_labels=5)
    model = AutoModelForSequenceClassification.from_config(cfg).to(device)
    missing, unexpected = model.load_state_dict(ckpt["model"], strict=False)
    print(len(missing), "missing", len(unexpected), "unexpected")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    for i in range(args.finetune_steps):
        ids = torch.randint(cfg.vocab_size, (args.batch_size, args.seq_len), device=device)
        y = torch.randint(5, (args.batch_size,), device=device)
        loss = model(ids, labels=y).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("cls", i, loss.item())


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--pretrain-steps", type=int, default=4)
    ap.add_argument("--finetune-steps", type=int, default=4)
    args = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "phase1.pt")
        phase_one(args, device, path)
        phase_two(args, device, path)
