import lightning as L
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import MulticlassAccuracy
from transformers import ViTConfig, ViTForImageClassification


class FakeImages(Dataset):
    def __init__(self, n, size=224, classes=100):
        self.n, self.size, self.classes = n, size, classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, self.size, self.size, generator=g), i % self.classes


class DataModule(L.LightningDataModule):
    def __init__(self, batch_size=64, n_train=640, n_val=160):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        self.train = FakeImages(self.hparams.n_train)
        self.val = FakeImages(self.hparams.n_val)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.hparams.batch_size, shuffle=True, num_workers=4, drop_last=True,
                          pin_memory=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.hparams.batch_size, num_workers=4)


class LitViT(L.LightningModule):
    def __init__(self, lr=1e-3, num_classes=100, mixup=0.2):
        super().__init__()
        self.save_hyperparameters()
        self.net = ViTForImageClassification(ViTConfig(num_labels=num_classes, hidden_dropout_prob=0.1))
        self.acc = MulticlassAccuracy(num_classes=num_classes)

    def forward(self, x):
        return self.net(pixel_values=x).logits

    def training_step(self, batch, batch_idx):
        x, y = batch
        lam = torch.distributions.Beta(self.hparams.mixup, self.hparams.mixup).sample().item()
        perm = torch.randperm(x.size(0), device=x.device)
        x = lam * x + (1 - lam) * x[perm]
        logits = self(x)
        loss = lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[perm])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.acc(logits, y)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", self.acc, on_epoch=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.05)
        sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=self.hparams.lr,
                                                  total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "interval": "step"}}


if __name__ == "__main__":
    L.seed_everything(1)
    torch.set_float32_matmul_precision("high")
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="gpu",
        devices=1,
        precision="bf16-mixed",
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = LitViT()
    trainer.fit(model, datamodule=DataModule())
    print({k: float(v) for k, v in trainer.callback_metrics.items()})
