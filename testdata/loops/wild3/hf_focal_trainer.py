import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification, Trainer, TrainingArguments


class FocalTrainer(Trainer):
    def __init__(self, *args, gamma=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.gamma = gamma

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logp = F.log_softmax(outputs.logits.float(), dim=-1)
        picked = logp.gather(1, labels[:, None])[:, 0]
        loss = -(((1 - picked.exp()) ** self.gamma) * picked).mean()
        return (loss, outputs) if return_outputs else loss


class Synthetic(Dataset):
    def __init__(self, size, vocab, seq):
        self.size, self.vocab, self.seq = size, vocab, seq

    def __len__(self):
        return self.size

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        ids = torch.randint(0, self.vocab, (self.seq,), generator=g)
        return dict(input_ids=ids, attention_mask=torch.ones(self.seq, dtype=torch.long), labels=torch.tensor(idx % 2))


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--config")
    cli.add_argument("--bs", type=int, default=16)
    cli.add_argument("--max_len", type=int, default=256)
    opts = cli.parse_args()
    conf = AutoConfig.from_pretrained(opts.config)
    net = AutoModelForSequenceClassification.from_config(conf)
    net.gradient_checkpointing_enable()
    args = TrainingArguments(
        output_dir="out", per_device_train_batch_size=opts.bs, gradient_accumulation_steps=2, num_train_epochs=1, bf16=True,
        learning_rate=2e-5, warmup_steps=2, logging_steps=2, save_strategy="no", report_to=[], max_grad_norm=0.5, optim="adamw_torch",
    )
    FocalTrainer(model=net, args=args, train_dataset=Synthetic(opts.bs * 8, conf.vocab_size, opts.max_len)).train()
