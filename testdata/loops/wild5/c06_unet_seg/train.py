import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split
from tqdm import tqdm

from unet import UNet


class BlobDataset(Dataset):
    """images with discs, mask = class of the disc"""

    def __init__(self, n, size, classes):
        self.n, self.size, self.classes = n, size, classes
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.yy, self.xx = yy.float(), xx.float()

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        img = torch.randn(3, self.size, self.size, generator=g) * 0.1
        mask = torch.zeros(self.size, self.size, dtype=torch.long)
        for c in range(1, self.classes):
            cy, cx = (torch.rand(2, generator=g) * self.size).tolist()
            r = self.size / 6
            inside = (self.yy - cy) ** 2 + (self.xx - cx) ** 2 < r * r
            mask[inside] = c
            img[c % 3][inside] += 1.0
        return {"image": img, "mask": mask}


def dice_coeff(input, target, reduce_batch_first=False, epsilon=1e-6):
    sum_dim = (-1, -2) if not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    dice = (inter + epsilon) / (sets_sum + epsilon)
    return dice.mean()


def multiclass_dice_coeff(input, target, reduce_batch_first=False):
    return dice_coeff(input.flatten(0, 1), target.flatten(0, 1), reduce_batch_first)


def dice_loss(input, target):
    return 1 - multiclass_dice_coeff(input, target, reduce_batch_first=True)


@torch.inference_mode()
def evaluate(net, loader, device, amp):
    net.eval()
    score = 0
    with torch.autocast("cuda", enabled=amp):
        for batch in tqdm(loader, desc="Validation", leave=False):
            image = batch["image"].to(device, dtype=torch.float32, memory_format=torch.channels_last)
            true = batch["mask"].to(device)
            pred = net(image)
            true = F.one_hot(true, net.n_classes).permute(0, 3, 1, 2).float()
            pred = F.one_hot(pred.argmax(dim=1), net.n_classes).permute(0, 3, 1, 2).float()
            score += multiclass_dice_coeff(pred[:, 1:], true[:, 1:])
    net.train()
    return score / max(len(loader), 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", "-e", type=int, default=1)
    parser.add_argument("--batch-size", "-b", type=int, default=4)
    parser.add_argument("--learning-rate", "-l", type=float, default=1e-5)
    parser.add_argument("--img-size", type=int, default=256)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--bilinear", action="store_true")
    parser.add_argument("--classes", "-c", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    model = UNet(3, args.classes, bilinear=args.bilinear)
    model = model.to(device=device, memory_format=torch.channels_last)

    dataset = BlobDataset(96, args.img_size, args.classes)
    n_val = 16
    train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(0))
    loader_args = dict(batch_size=args.batch_size, num_workers=2, pin_memory=True)
    train_loader = DataLoader(train_set, shuffle=True, **loader_args)
    val_loader = DataLoader(val_set, shuffle=False, drop_last=True, **loader_args)

    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.learning_rate, weight_decay=1e-8, momentum=0.999, foreach=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=5)
    grad_scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        epoch_loss = 0
        with tqdm(total=len(train_set), desc=f"Epoch {epoch}/{args.epochs}", unit="img") as pbar:
            for batch in train_loader:
                images = batch["image"].to(device=device, dtype=torch.float32, memory_format=torch.channels_last)
                true_masks = batch["mask"].to(device=device, dtype=torch.long)
                with torch.autocast("cuda", enabled=args.amp):
                    masks_pred = model(images)
                    loss = criterion(masks_pred, true_masks)
                    loss += dice_loss(
                        F.softmax(masks_pred, dim=1).float(),
                        F.one_hot(true_masks, model.n_classes).permute(0, 3, 1, 2).float(),
                    )
                optimizer.zero_grad(set_to_none=True)
                grad_scaler.scale(loss).backward()
                grad_scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                grad_scaler.step(optimizer)
                grad_scaler.update()
                pbar.update(images.shape[0])
                epoch_loss += loss.item()
                pbar.set_postfix(**{"loss (batch)": loss.item()})
        val_score = evaluate(model, val_loader, device, args.amp)
        scheduler.step(val_score)
        logging.info("Validation Dice score: %s", float(val_score))


if __name__ == "__main__":
    main()
