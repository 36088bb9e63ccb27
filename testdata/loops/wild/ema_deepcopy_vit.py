import argparse
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, ViTForImageClassification


class NoiseImages(Dataset):
    def __init__(self, size, num_classes, image_size):
        self.size, self.num_classes, self.image_size = size, num_classes, image_size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        image = torch.rand(3, self.image_size, self.image_size)
        return image, i % self.num_classes


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.9998):
        super().__init__()
        self.module = deepcopy(model)
        self.module.eval()
        self.module.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.parameters(), model.parameters()):
            e.lerp_(m, 1.0 - self.decay)
        for e, m in zip(self.module.buffers(), model.buffers()):
            e.copy_(m)


@torch.inference_mode()
def validate(model, loader):
    correct = seen = 0
    for images, targets in loader:
        images, targets = images.cuda(), targets.cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(pixel_values=images).logits
        correct += (logits.argmax(-1) == targets).sum()
        seen += targets.numel()
    return correct.item() / seen


def main(args):
    config = AutoConfig.from_pretrained(args.config)
    config.num_labels = args.num_classes
    model = ViTForImageClassification(config).cuda()
    ema = ModelEma(model)
    train_loader = DataLoader(NoiseImages(args.batch_size * 4, config.num_labels, config.image_size), args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(NoiseImages(args.batch_size * 2, config.num_labels, config.image_size), args.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)

    for epoch in range(args.epochs):
        model.train()
        for images, targets in train_loader:
            images = images.cuda(non_blocking=True)
            targets = targets.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(pixel_values=images).logits
                loss = F.cross_entropy(logits, targets, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
        print(f"epoch {epoch}: loss {loss.item():.3f}, ema accuracy {validate(ema.module, val_loader):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seq-len", type=int, default=197, help="ignored: an image is always 196 patches and a class token")
    parser.add_argument("--num-classes", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=2)
    main(parser.parse_args())
