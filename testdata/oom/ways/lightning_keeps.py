import lightning as L
import torch
from torch.utils.data import DataLoader
from net import Decoder, next_token_loss


class Task(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Decoder(layers=4)
        self.outputs = []

    def training_step(self, ids, i):
        logits = self.net(ids)
        loss = next_token_loss(logits, ids)
        self.outputs.append({"loss": loss, "logits": logits})
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


data = DataLoader(torch.randint(0, 8000, (20000, 128)), batch_size=8)
L.Trainer(max_steps=4000, logger=False, enable_checkpointing=False, enable_progress_bar=False).fit(Task(), data)
