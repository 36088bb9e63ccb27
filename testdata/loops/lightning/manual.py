import sys

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


class Pair(pl.LightningModule):
    def __init__(self, name, accumulate=2, clip=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        config = AutoConfig.from_pretrained(self.hparams.name)
        self.a = AutoModelForCausalLM.from_config(config)
        self.b = AutoModelForCausalLM.from_config(config)

    def training_step(self, batch, batch_idx):
        opt_a, opt_b = self.optimizers()
        self.toggle_optimizer(opt_a)
        out = self.a(input_ids=batch, labels=batch)
        self.log("a", out.loss, prog_bar=True)
        opt_a.zero_grad()
        self.manual_backward(out.loss)
        self.clip_gradients(opt_a, gradient_clip_val=self.hparams.clip, gradient_clip_algorithm="norm")
        opt_a.step()
        self.untoggle_optimizer(opt_a)
        with torch.no_grad():
            target = self.a(input_ids=batch).logits
        loss = F.mse_loss(self.b(input_ids=batch).logits.float(), target.float())
        self.log("b", loss)
        self.manual_backward(loss / self.hparams.accumulate)
        if (batch_idx + 1) % self.hparams.accumulate == 0:
            opt_b.step()
            opt_b.zero_grad()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.a.parameters(), lr=1e-4), torch.optim.SGD(self.b.parameters(), lr=1e-3, momentum=0.9)


model = Pair(sys.argv[2])
trainer = pl.Trainer(max_epochs=1, precision=sys.argv[1], logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(model, DataLoader(torch.randint(0, 50000, (12, 256)), batch_size=2))
