import argparse
import logging
import random

import torch
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoModelForMaskedLM, get_linear_schedule_with_warmup

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger(__name__)


class SentenceDataset(Dataset):
    def __init__(self, n, max_len, vocab_size):
        self.n = n
        self.max_len = max_len
        self.vocab_size = vocab_size

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        rng = random.Random(idx)
        ids = [rng.randrange(10, self.vocab_size - 10) for _ in range(self.max_len)]
        return {"input_ids": ids, "attention_mask": [1] * self.max_len}


class MaskingCollator:
    def __init__(self, mask_id, vocab_size, prob=0.15):
        self.mask_id = mask_id
        self.vocab_size = vocab_size
        self.prob = prob

    def __call__(self, examples):
        input_ids = torch.tensor([e["input_ids"] for e in examples])
        attention_mask = torch.tensor([e["attention_mask"] for e in examples])
        labels = input_ids.clone()
        masked = torch.bernoulli(torch.full(labels.shape, self.prob)).bool()
        labels[~masked] = -100
        replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
        input_ids[replaced] = self.mask_id
        noise = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
        input_ids[noise] = torch.randint(self.vocab_size, labels.shape)[noise]
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def parse_args():
    parser = argparse.ArgumentParser(description="Masked language modeling")
    parser.add_argument("--config", type=str, required=True)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--num_train_epochs", type=int, default=2)
    parser.add_argument("--steps_per_epoch", type=int, default=4)
    return parser.parse_args()


def main():
    args = parse_args()
    device = torch.device("cuda")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForMaskedLM.from_config(config)
    logger.info("parameters: %d", model.num_parameters())
    model.to(device)

    dataset = SentenceDataset(args.batch_size * args.steps_per_epoch, args.seq_len, config.vocab_size)
    collator = MaskingCollator(mask_id=4, vocab_size=config.vocab_size)
    dataloader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, collate_fn=collator)

    no_decay = ["bias", "LayerNorm.weight"]
    optimizer_grouped_parameters = [
        {
            "params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
            "weight_decay": args.weight_decay,
        },
        {
            "params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
            "weight_decay": 0.0,
        },
    ]
    optimizer = torch.optim.AdamW(optimizer_grouped_parameters, lr=args.learning_rate)
    total = args.num_train_epochs * len(dataloader)
    scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=total)

    progress_bar = tqdm(range(total))
    for epoch in range(args.num_train_epochs):
        model.train()
        epoch_loss = 0.0
        for batch in dataloader:
            batch = {k: v.to(device) for k, v in batch.items()}
            outputs = model(**batch)
            loss = outputs.loss
            epoch_loss += loss.detach().float()
            loss.backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            progress_bar.update(1)
        logger.info("epoch %d: loss %.4f", epoch, epoch_loss.item() / len(dataloader))


if __name__ == "__main__":
    main()
