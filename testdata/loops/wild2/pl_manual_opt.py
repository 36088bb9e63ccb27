import argparse
import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForMaskedLM


class GeneratorDiscriminator(pl.LightningModule):
    """Encoder with MLM head and a second, small discriminator on its hidden states; manual optimization."""

    def __init__(self, path):
        super().__init__()
        self.automatic_optimization = False
        self.cfg = AutoConfig.from_pretrained(path)
        self.mlm = AutoModelForMaskedLM.from_config(self.cfg)
        h = self.cfg.hidden_size
        self.disc = torch.nn.Sequential(torch.nn.Linear(h, h), torch.nn.LeakyReLU(0.2), torch.nn.Linear(h, 1))

    def training_step(self, batch, batch_idx):
        opt_g, opt_d = self.optimizers()
        labels = batch.masked_fill(torch.rand_like(batch, dtype=torch.float) > 0.2, -100)
        out = self.mlm(input_ids=batch, labels=labels, output_hidden_states=True)
        h = out.hidden_states[-1]

        self.toggle_optimizer(opt_g)
        adv = F.binary_cross_entropy_with_logits(self.disc(h).squeeze(-1), torch.ones_like(batch, dtype=h.dtype))
        opt_g.zero_grad()
        self.manual_backward(out.loss + 0.1 * adv)
        self.clip_gradients(opt_g, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt_g.step()
        self.untoggle_optimizer(opt_g)

        self.toggle_optimizer(opt_d)
        fake = self.disc(h.detach()).squeeze(-1)
        real = self.disc(torch.randn_like(h)).squeeze(-1)
        d_loss = F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake)) + F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        self.untoggle_optimizer(opt_d)
        self.log_dict({"g": out.loss, "d": d_loss}, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.mlm.parameters(), lr=1e-4), torch.optim.Adam(self.disc.parameters(), lr=2e-4, betas=(0.5, 0.999))


class PrintMetrics(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        print(batch_idx, {k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--seq-len", type=int, default=128)
    a = p.parse_args()
    module = GeneratorDiscriminator(a.config)
    data = torch.randint(module.cfg.vocab_size, (6 * a.batch_size, a.seq_len))
    pl.Trainer(max_steps=12, max_epochs=1, accelerator="auto", devices=1, logger=False, enable_checkpointing=False,
               enable_progress_bar=False, callbacks=[PrintMetrics()]).fit(module, DataLoader(data, batch_size=a.batch_size))


if __name__ == "__main__":
    main()
