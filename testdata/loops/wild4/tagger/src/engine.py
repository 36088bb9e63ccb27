import torch
from torch import nn
from .ema import ModelEMA


class Engine:
    def __init__(self, model, cfg, device):
        self.cfg, self.device = cfg, device
        self.model = model.to(device)
        self.ema = ModelEMA(self.model, cfg["ema_decay"])
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=float(cfg["lr"]))
        self.criterion = nn.CrossEntropyLoss(ignore_index=-100)
        self.step_no = 0

    def _amp(self):
        return torch.autocast(device_type=self.device.type, dtype=torch.bfloat16, enabled=self.cfg["amp"])

    def train_one_epoch(self, loader):
        self.model.train()
        running = torch.zeros((), device=self.device)
        for batch in loader:
            ids, tags = batch["ids"].to(self.device), batch["tags"].to(self.device)
            with self._amp():
                logits = self.model(ids)
                loss = self.criterion(logits.flatten(0, 1), tags.flatten())
            self.optim.zero_grad(set_to_none=False)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["grad_clip"])
            self.optim.step()
            self.ema.update(self.model)
            running += loss.detach()
            self.step_no += 1
        return (running / len(loader)).item()

    @torch.inference_mode()
    def validate(self, loader):
        preds, golds = [], []
        for batch in loader:
            with self._amp():
                out = self.ema.module(batch["ids"].to(self.device), batch["ids"].ne(0).to(self.device))
            preds.append(out.argmax(-1))
            golds.append(batch["tags"].to(self.device))
        preds, golds = torch.cat(preds), torch.cat(golds)
        return (preds == golds).float().mean().item()
