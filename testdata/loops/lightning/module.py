import argparse

import lightning as L
import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


class LanguageModel(L.LightningModule):
    def __init__(self, config_name, lr=1e-4):
        super().__init__()
        self.lr = lr
        config = AutoConfig.from_pretrained(config_name)
        self.model = AutoModelForCausalLM.from_config(config)

    def forward(self, input_ids, labels=None):
        return self.model(input_ids=input_ids, labels=labels)

    def training_step(self, batch, batch_idx):
        outputs = self(batch, labels=batch)
        self.log("train_loss", outputs.loss)
        return outputs.loss

    def validation_step(self, batch, batch_idx):
        outputs = self(batch, labels=batch)
        self.log("val_loss", outputs.loss)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--clip", type=float, default=None)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--sanity", type=int, default=0)
    args = parser.parse_args()

    model = LanguageModel(args.config)
    vocab_size = model.model.config.vocab_size

    def loader(batches):
        return DataLoader(torch.randint(0, vocab_size, (args.batch_size * batches, args.seq_len)), batch_size=args.batch_size)

    trainer = L.Trainer(
        max_steps=args.steps,
        accelerator="gpu",
        devices=1,
        precision=args.precision,
        gradient_clip_val=args.clip,
        accumulate_grad_batches=args.accumulate,
        num_sanity_val_steps=args.sanity,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(model, loader(args.steps * args.accumulate), loader(3) if args.validate else None)


if __name__ == "__main__":
    main()
