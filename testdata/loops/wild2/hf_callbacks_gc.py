import argparse
import gc
import math

import torch
from torch.utils.data import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments


class RandomCorpus(Dataset):
    def __init__(self, vocab_size, seq_len, size, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.data = torch.randint(vocab_size, (size, seq_len), generator=g)

    def __len__(self):
        return self.data.size(0)

    def __getitem__(self, index):
        return {"input_ids": self.data[index], "labels": self.data[index]}


class MemoryCallback(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if torch.cuda.is_available():
            print(f"step {state.global_step}: {torch.cuda.memory_allocated() / 2**20:.0f} MiB now, {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB peak")
        gc.collect()


class StopWhenNan(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and math.isnan(logs.get("loss", 0.0)):
            control.should_training_stop = True


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--seq-len", type=int, default=512)
    p.add_argument("--reentrant", action="store_true")
    a = p.parse_args()
    config = AutoConfig.from_pretrained(a.config)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    args = TrainingArguments(
        output_dir="gc-out",
        per_device_train_batch_size=a.batch_size,
        max_steps=6,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": a.reentrant},
        fp16=torch.cuda.is_available(),
        label_smoothing_factor=0.1,
        lr_scheduler_type="cosine",
        warmup_steps=2,
        max_grad_norm=0.5,
        torch_empty_cache_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        remove_unused_columns=False,
    )
    trainer = Trainer(model=model, args=args, train_dataset=RandomCorpus(config.vocab_size, a.seq_len, 6 * a.batch_size),
                      callbacks=[MemoryCallback(), StopWhenNan])
    trainer.train()


if __name__ == "__main__":
    main()
