"""Trainer with an optimizer and a scheduler made outside, bottom layers frozen."""
import argparse
import torch
from transformers import AutoConfig, AutoModelForMaskedLM, Trainer, TrainingArguments


class MaskingCollator:
    def __init__(self, vocab_size, mask_id, p=0.15):
        self.vocab_size, self.mask_id, self.p = vocab_size, mask_id, p

    def __call__(self, rows):
        ids = torch.stack(rows if torch.is_tensor(rows[0]) else [r["input_ids"] for r in rows])
        labels = ids.clone()
        m = torch.bernoulli(torch.full(ids.shape, self.p)).bool()
        labels[~m] = -100
        ids = ids.clone()
        ids[m] = self.mask_id
        return {"input_ids": ids, "labels": labels}


def freeze_bottom(model, n):
    model.get_input_embeddings().weight.requires_grad_(False)
    for name, p in model.named_parameters():
        for i in range(n):
            if f".layer.{i}." in name or f".layers.{i}." in name:
                p.requires_grad_(False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--freeze", type=int, default=4)
    args = ap.parse_args()
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForMaskedLM.from_config(config)
    freeze_bottom(model, args.freeze)
    params = [p for p in model.parameters() if p.requires_grad]
    print(sum(p.numel() for p in params), "of", sum(p.numel() for p in model.parameters()), "train")
    optimizer = torch.optim.SGD(params, lr=0.01, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    targs = TrainingArguments(output_dir="mlm", per_device_train_batch_size=args.batch_size, num_train_epochs=1, logging_steps=2,
                              save_strategy="no", report_to="none", dataloader_drop_last=True, tf32=torch.cuda.is_available() or None)
    data = [{"input_ids": torch.randint(config.vocab_size, (args.seq_len,))} for _ in range(7 * args.batch_size)]
    Trainer(model=model, args=targs, data_collator=MaskingCollator(config.vocab_size, 4), train_dataset=data,
            optimizers=(optimizer, scheduler)).train()


if __name__ == "__main__":
    main()
