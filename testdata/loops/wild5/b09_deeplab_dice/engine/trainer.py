import torch


class ConfusionMatrix:
    def __init__(self, n, device):
        self.n = n
        self.mat = torch.zeros((n, n), dtype=torch.int64, device=device)

    def update(self, a, b):
        with torch.inference_mode():
            k = (a >= 0) & (a < self.n)
            inds = self.n * a[k].to(torch.int64) + b[k]
            self.mat += torch.bincount(inds, minlength=self.n ** 2)[: self.n ** 2].reshape(self.n, self.n)

    def miou(self):
        h = self.mat.float()
        return (torch.diag(h) / (h.sum(1) + h.sum(0) - torch.diag(h)).clamp(min=1)).mean().item()


class SegTrainer:
    def __init__(self, model, criterion, optimizer, scheduler, device, n_cls, freeze_bn=False):
        self.model, self.criterion = model, criterion
        self.optimizer, self.scheduler = optimizer, scheduler
        self.device, self.n_cls, self.freeze_bn = device, n_cls, freeze_bn

    def fit(self, train_loader, val_loader, epochs):
        for e in range(epochs):
            self._train_epoch(e, train_loader)
            print(f"[{e}] mIoU {self._eval(val_loader):.4f}")

    def _train_epoch(self, e, loader):
        self.model.train()
        if self.freeze_bn:
            for m in self.model.modules():
                if isinstance(m, torch.nn.BatchNorm2d):
                    m.eval()
        for i, (img, mask) in enumerate(loader):
            img, mask = img.to(self.device), mask.to(self.device)
            out = self.model(img)
            loss = self.criterion(out, mask)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            print(f"[{e}:{i}] loss {loss.item():.4f} lr {self.optimizer.param_groups[0]['lr']:.5f}")

    @torch.no_grad()
    def _eval(self, loader):
        self.model.eval()
        cm = ConfusionMatrix(self.n_cls, self.device)
        for img, mask in loader:
            img, mask = img.to(self.device), mask.to(self.device)
            out = self.model(img)["out"]
            cm.update(mask.flatten(), out.argmax(1).flatten())
        return cm.miou()
