import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM, get_scheduler


class Blocks(Dataset):
    def __init__(self, n, block, vocab):
        self.n, self.block, self.vocab = n, block, vocab

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        ids = torch.randint(self.vocab, (self.block,))
        return {"input_ids": ids, "labels": ids.clone()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model_name_or_path", "--config", dest="model")
    ap.add_argument("--per_device_train_batch_size", "--batch-size", dest="bs", type=int, default=4)
    ap.add_argument("--block_size", "--seq-len", dest="block", type=int, default=256)
    ap.add_argument("--gradient_accumulation_steps", type=int, default=4)
    ap.add_argument("--mixed_precision", default="bf16")
    args = ap.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps, mixed_precision=args.mixed_precision)
    set_seed(5)
    config = AutoConfig.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_config(config)
    loader = DataLoader(Blocks(12 * args.bs, args.block, config.vocab_size), batch_size=args.bs, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    scheduler = get_scheduler("cosine", optimizer, num_warmup_steps=1, num_training_steps=12 // args.gradient_accumulation_steps)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    model.train()
    total_loss, done = 0, 0
    for step, batch in enumerate(loader):
        with accelerator.accumulate(model):
            outputs = model(**batch)
            loss = outputs.loss
            total_loss += loss.detach().float()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            done += 1
            accelerator.print(f"update {done}: {total_loss.item() / (step + 1):.4f}")


if __name__ == "__main__":
    main()
