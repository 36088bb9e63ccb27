import sys

import lightning as L
import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


class Mixed(L.LightningModule):
    def __init__(self, name):
        super().__init__()
        self.net = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(name))

    def step(self, x):
        return self.net(input_ids=x, labels=x)

    def training_step(self, batch, batch_idx):
        out = self.step(batch["a"])
        other = self.step(batch["b"]).loss
        self.log("loss", out.loss, on_epoch=True)
        return out.loss + other

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val", self.step(batch).loss)

    def test_step(self, batch, batch_idx):
        return self.step(batch)

    def optimizer_step(self, epoch, batch_idx, optimizer, closure):
        optimizer.step(closure=closure)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-4)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


class Last(L.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.outputs, self.batch = outputs, batch


def loader(n):
    return DataLoader(torch.randint(0, 50000, (n, 256)), batch_size=2)


k = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer = L.Trainer(max_epochs=2, precision=sys.argv[1], accumulate_grad_batches=3, val_check_interval=4, limit_val_batches=2, callbacks=[Last()], **k)
model = Mixed(sys.argv[2])
trainer.fit(model, {"a": loader(16), "b": loader(16)}, [loader(6), loader(6)])
trainer.test(model, loader(4))
