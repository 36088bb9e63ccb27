"""bf16 weights, SGD by name, trains 4 steps, saves, and goes on from the checkpoint with a fresh Trainer."""
import argparse
import os
import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments


def get_trainer(args, max_steps):
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.config.use_cache = False
    targs = TrainingArguments(
        output_dir=args.output_dir, max_steps=max_steps, per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.ga, optim=args.optim, optim_args="momentum=0.9" if args.optim == "sgd" else None,
        learning_rate=1e-3, save_steps=4, save_only_model=False, logging_steps=1, report_to="none",
        dataloader_pin_memory=True,
    )
    gen = torch.Generator().manual_seed(0)
    data = [{"input_ids": (x := torch.randint(config.vocab_size, (args.seq_len,), generator=gen)), "labels": x} for _ in range(8 * args.ga * args.batch_size)]
    return Trainer(model=model, args=targs, train_dataset=data)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--seq-len", type=int, default=512)
    ap.add_argument("--ga", type=int, default=1)
    ap.add_argument("--optim", default="sgd")
    ap.add_argument("--output-dir", default="resume-out")
    args = ap.parse_args()
    get_trainer(args, 4).train()
    get_trainer(args, 7).train(resume_from_checkpoint=os.path.join(args.output_dir, "checkpoint-4"))
