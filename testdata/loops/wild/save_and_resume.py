import argparse
import os
import tempfile

import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--seq-len", type=int, default=512)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--resume-at", type=int, default=2)


def build(args, config):
    model = AutoModelForCausalLM.from_config(config).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
    return model, optimizer, scheduler


def save_checkpoint(path, model, optimizer, scheduler, epoch):
    torch.save({
        "epoch": epoch,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "scheduler_state_dict": scheduler.state_dict(),
    }, path)


def load_checkpoint(path, model, optimizer, scheduler):
    checkpoint = torch.load(path, map_location="cuda")
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    scheduler.load_state_dict(checkpoint["scheduler_state_dict"])
    return checkpoint["epoch"] + 1


def train_one_epoch(model, optimizer, loader):
    model.train()
    total = 0.0
    for ids in loader:
        ids = ids.to("cuda")
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            outputs = model(input_ids=ids, labels=ids)
        outputs.loss.backward()
        optimizer.step()
        total += outputs.loss.item()
    return total / len(loader)


def main():
    args = parser.parse_args()
    config = AutoConfig.from_pretrained(args.config)
    loader = DataLoader(torch.randint(0, config.vocab_size, (args.batch_size * 3, args.seq_len)), batch_size=args.batch_size)
    model, optimizer, scheduler = build(args, config)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        epoch = 0
        while epoch < args.epochs:
            if epoch == args.resume_at and os.path.exists(path):
                # as if the job had been restarted
                del model, optimizer, scheduler
                torch.cuda.empty_cache()
                model, optimizer, scheduler = build(args, config)
                epoch = load_checkpoint(path, model, optimizer, scheduler)
                print("resumed at epoch", epoch)
            loss = train_one_epoch(model, optimizer, loader)
            scheduler.step()
            save_checkpoint(path, model, optimizer, scheduler, epoch)
            print("epoch", epoch, "loss", loss)
            epoch += 1


if __name__ == "__main__":
    main()
