import lightning as L
import torch
import torch.nn.functional as F
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import MulticlassAccuracy


class RandomImages(Dataset):
    def __init__(self, length, num_classes=20, size=224):
        self.length = length
        self.num_classes = num_classes
        self.size = size

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        y = idx % self.num_classes
        x = torch.randn(3, self.size, self.size) * 0.5 + y / self.num_classes
        return x, y


class ImageDataModule(L.LightningDataModule):
    def __init__(self, batch_size=128, num_workers=4):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        self.train_ds = RandomImages(self.hparams.batch_size * 8)
        self.val_ds = RandomImages(self.hparams.batch_size * 2)

    def train_dataloader(self):
        return DataLoader(self.train_ds, batch_size=self.hparams.batch_size, shuffle=True, num_workers=self.hparams.num_workers)

    def val_dataloader(self):
        return DataLoader(self.val_ds, batch_size=self.hparams.batch_size, num_workers=self.hparams.num_workers)


class LitResNet(L.LightningModule):
    def __init__(self, num_classes=20, lr=3e-4, weight_decay=1e-4):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = torchvision.models.resnet18(weights=None)
        in_features = self.backbone.fc.in_features
        self.backbone.fc = torch.nn.Sequential(
            torch.nn.Linear(in_features, 256), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(256, num_classes)
        )
        self.train_acc = MulticlassAccuracy(num_classes=num_classes)
        self.val_acc = MulticlassAccuracy(num_classes=num_classes)

    def forward(self, x):
        return self.backbone(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.train_acc(logits, y)
        self.log("train_loss", loss, prog_bar=True)
        self.log("train_acc", self.train_acc, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.val_acc(logits, y)
        self.log("val_loss", F.cross_entropy(logits, y), prog_bar=True)
        self.log("val_acc", self.val_acc, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
        return {"optimizer": opt, "lr_scheduler": sch}


if __name__ == "__main__":
    L.seed_everything(42)
    torch.set_float32_matmul_precision("high")
    trainer = L.Trainer(
        max_epochs=1, accelerator="gpu", devices=1, precision="16-mixed", logger=False,
        enable_checkpointing=False, num_sanity_val_steps=1, log_every_n_steps=1, gradient_clip_val=1.0,
    )
    trainer.fit(LitResNet(), datamodule=ImageDataModule())
