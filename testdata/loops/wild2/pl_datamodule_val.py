from argparse import ArgumentParser

import pytorch_lightning as pl
import torch
import torch.nn as nn
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModel, get_linear_schedule_with_warmup


class Comments(Dataset):
    def __init__(self, n, seq_len, vocab, n_labels):
        self.ids = torch.randint(vocab, (n, seq_len))
        self.labels = (torch.rand(n, n_labels) > 0.7).float()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return dict(input_ids=self.ids[i], attention_mask=torch.ones_like(self.ids[i]), labels=self.labels[i])


class CommentData(pl.LightningDataModule):
    def __init__(self, batch_size, seq_len, vocab, n_labels):
        super().__init__()
        self.batch_size, self.seq_len, self.vocab, self.n_labels = batch_size, seq_len, vocab, n_labels

    def setup(self, stage=None):
        self.train = Comments(4 * self.batch_size, self.seq_len, self.vocab, self.n_labels)
        self.val = Comments(2 * self.batch_size, self.seq_len, self.vocab, self.n_labels)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.batch_size)


class ToxicTagger(pl.LightningModule):
    def __init__(self, path, n_labels, steps):
        super().__init__()
        self.cfg = AutoConfig.from_pretrained(path)
        self.bert = AutoModel.from_config(self.cfg)
        self.classifier = nn.Linear(self.cfg.hidden_size, n_labels)
        self.criterion = nn.BCEWithLogitsLoss()
        self.steps = steps
        self.val_outputs = []

    def forward(self, input_ids, attention_mask, labels=None):
        h = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state[:, 0]
        logits = self.classifier(h)
        loss = self.criterion(logits, labels) if labels is not None else 0
        return loss, logits

    def training_step(self, batch, idx):
        loss, logits = self(**batch)
        self.log("train_loss", loss)
        return {"loss": loss, "predictions": logits.detach(), "labels": batch["labels"]}

    def validation_step(self, batch, idx):
        loss, logits = self(**batch)
        self.log("val_loss", loss, on_epoch=True)
        self.val_outputs.append((logits, batch["labels"]))

    def on_validation_epoch_end(self):
        preds = torch.cat([o[0] for o in self.val_outputs]).sigmoid() > 0.5
        refs = torch.cat([o[1] for o in self.val_outputs]).bool()
        self.log("val_acc", (preds == refs).float().mean())
        self.val_outputs.clear()

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=2e-5)
        return [opt], [dict(scheduler=get_linear_schedule_with_warmup(opt, 1, self.steps), interval="step")]


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=128)
    args = parser.parse_args()
    model = ToxicTagger(args.config, 6, 8)
    data = CommentData(args.batch_size, args.seq_len, model.cfg.vocab_size, 6)
    trainer = pl.Trainer(
        max_epochs=2, accelerator="auto", devices=1, logger=False, enable_progress_bar=False,
        callbacks=[ModelCheckpoint(dirpath="ckpts", monitor="val_loss", save_top_k=1), EarlyStopping("val_loss", patience=2)],
    )
    trainer.fit(model, data)
