"""Image classification with Fabric: train, validate, keep the best in memory on the CPU."""
import argparse
import lightning as L
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForImageClassification


def images(n, bs, size, classes):
    for _ in range(n):
        yield torch.rand(bs, 3, size, size), torch.randint(classes, (bs,))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--val-batch-size", type=int, default=32)
    ap.add_argument("--classes", type=int, default=37)
    ap.add_argument("--freeze-embeddings", action="store_true")
    args = ap.parse_args()
    fabric = L.Fabric(accelerator="auto", devices=1, precision="bf16-mixed")
    cfg = AutoConfig.from_pretrained(args.config, num_labels=args.classes)
    model = AutoModelForImageClassification.from_config(cfg)
    if args.freeze_embeddings:
        for name, p in model.named_parameters():
            if "embeddings" in name:
                p.requires_grad = False
    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=3e-4)
    model, optimizer = fabric.setup(model, optimizer)
    best, best_state = -1.0, None
    for epoch in range(2):
        model.train()
        for x, y in images(4, args.batch_size, cfg.image_size, args.classes):
            x, y = fabric.to_device((x, y))
            loss = F.cross_entropy(model(x).logits, y)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        model.eval()
        hits, seen = 0, 0
        with torch.no_grad():
            for x, y in images(2, args.val_batch_size, cfg.image_size, args.classes):
                x, y = fabric.to_device((x, y))
                hits += (model(x).logits.argmax(1) == y).sum()
                seen += len(y)
        acc = (hits / seen).item()
        if acc > best:
            best = acc
            best_state = {k: v.cpu().clone() for k, v in model.state_dict().items()}
        fabric.print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f} (best {best:.3f}, {len(best_state)} tensors)")


if __name__ == "__main__":
    main()
