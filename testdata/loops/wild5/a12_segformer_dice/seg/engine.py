import torch
import torch.nn.functional as F


class Engine:
    def __init__(self, model, criterion, optimizer, scheduler, device, n_classes):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.device = device
        self.confusion = torch.zeros(n_classes, n_classes, device=device, dtype=torch.long)
        self.n = n_classes

    def _logits(self, x):
        logits = self.model(pixel_values=x).logits
        return F.interpolate(logits, size=x.shape[-2:], mode="bilinear", align_corners=False)

    def train_epoch(self, loader):
        self.model.train()
        history = []
        for x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad(set_to_none=False)
            loss = self.criterion(self._logits(x), y)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            history.append(loss.item())
        return history

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        self.confusion.zero_()
        for x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            pred = self._logits(x).argmax(1)
            keep = y != 255
            idx = y[keep] * self.n + pred[keep]
            self.confusion += torch.bincount(idx, minlength=self.n ** 2).view(self.n, self.n)
        inter = self.confusion.diag().float()
        iou = inter / (self.confusion.sum(0) + self.confusion.sum(1) - self.confusion.diag()).clamp(min=1)
        return iou.mean().item()
