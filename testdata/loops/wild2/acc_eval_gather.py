import argparse
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForSequenceClassification


def fake_split(n, seq_len, vocab, labels):
    return [{"input_ids": torch.randint(vocab, (seq_len,)), "attention_mask": torch.ones(seq_len, dtype=torch.long),
             "labels": torch.randint(labels, ()).item()} for _ in range(n)]


def collate_fn(examples):
    return {
        "input_ids": torch.stack([e["input_ids"] for e in examples]),
        "attention_mask": torch.stack([e["attention_mask"] for e in examples]),
        "labels": torch.tensor([e["labels"] for e in examples]),
    }


def training_function(config, args):
    accelerator = Accelerator(cpu=not torch.cuda.is_available(), mixed_precision=args.mixed_precision)
    hf = AutoConfig.from_pretrained(args.config, num_labels=6)
    train_dl = DataLoader(fake_split(config["train_batches"] * args.batch_size, args.seq_len, hf.vocab_size, 6),
                          shuffle=True, collate_fn=collate_fn, batch_size=args.batch_size, drop_last=True)
    eval_dl = DataLoader(fake_split(3 * args.eval_batch_size, args.seq_len, hf.vocab_size, 6),
                         shuffle=False, collate_fn=collate_fn, batch_size=args.eval_batch_size)
    model = AutoModelForSequenceClassification.from_config(hf)
    model = model.to(accelerator.device)
    optimizer = torch.optim.AdamW(params=model.parameters(), lr=config["lr"])
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)

    for epoch in range(config["num_epochs"]):
        model.train()
        for batch in train_dl:
            batch.to(accelerator.device) if hasattr(batch, "to") else None
            loss = model(**batch).loss
            accelerator.backward(loss)
            accelerator.clip_grad_value_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        preds, refs = [], []
        for batch in eval_dl:
            with torch.no_grad():
                outputs = model(**batch)
            p, r = accelerator.gather_for_metrics((outputs.logits.argmax(dim=-1), batch["labels"]))
            preds.append(p)
            refs.append(r)
        acc = (torch.cat(preds) == torch.cat(refs)).float().mean().item()
        accelerator.print(f"epoch {epoch}: acc {acc:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--eval-batch-size", type=int, default=32)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--mixed-precision", default="no", choices=["no", "fp16", "bf16"])
    args = parser.parse_args()
    training_function({"lr": 2e-5, "num_epochs": 2, "train_batches": 4}, args)


if __name__ == "__main__":
    main()
