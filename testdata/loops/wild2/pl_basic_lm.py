import argparse

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForCausalLM


class LitLM(L.LightningModule):
    def __init__(self, config_path, lr=3e-4):
        super().__init__()
        self.save_hyperparameters()
        self.model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(config_path))

    def training_step(self, batch, batch_idx):
        (ids,) = batch
        loss = self.model(input_ids=ids, labels=ids).loss
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--precision", default="bf16-mixed")
    ap.add_argument("--accumulate", type=int, default=1)
    args = ap.parse_args()
    L.seed_everything(1)
    lit = LitLM(args.config)
    ids = torch.randint(lit.model.config.vocab_size, (8 * args.batch_size, args.seq_len))
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="auto",
        devices=1,
        precision=args.precision,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        log_every_n_steps=1,
    )
    trainer.fit(lit, DataLoader(TensorDataset(ids), batch_size=args.batch_size, shuffle=True))


if __name__ == "__main__":
    main()
