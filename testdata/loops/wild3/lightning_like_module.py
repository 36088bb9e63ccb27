"""An own little 'lightning': a module with training_step, configure_optimizers and a fit function."""
import argparse

import torch
from transformers import AutoConfig, AutoModelForImageClassification


class Module(torch.nn.Module):
    def training_step(self, batch, i):
        raise NotImplementedError

    def log(self, name, value):
        self.logged = getattr(self, "logged", {})
        self.logged.setdefault(name, []).append(float(value))


class Classifier(Module):
    def __init__(self, folder, classes):
        super().__init__()
        config = AutoConfig.from_pretrained(folder, num_labels=classes)
        self.net = AutoModelForImageClassification.from_config(config)
        self.size = config.image_size

    def training_step(self, batch, i):
        x, y = batch
        out = self.net(pixel_values=x)
        loss = torch.nn.functional.cross_entropy(out.logits, y)
        self.log("train_loss", loss)
        self.log("train_acc", (out.logits.argmax(1) == y).float().mean())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-2, momentum=0.9)


def fit(module, loader, epochs, device="cuda", amp=True):
    module.to(device).train()
    optimizer = module.configure_optimizers()
    for _ in range(epochs):
        for i, batch in enumerate(loader):
            batch = [t.to(device) for t in batch]
            optimizer.zero_grad()
            with torch.autocast(device, dtype=torch.bfloat16, enabled=amp):
                loss = module.training_step(batch, i)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    p.add_argument("--batch_size", type=int, default=16)
    a = p.parse_args()
    m = Classifier(a.config, 37)
    loader = [(torch.randn(a.batch_size, 3, m.size, m.size), torch.randint(0, 37, (a.batch_size,))) for _ in range(4)]
    fit(m, loader, epochs=2)
    print({k: sum(v) / len(v) for k, v in m.logged.items()})
