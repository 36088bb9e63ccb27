import sys

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


def train(fabric, name):
    model = fabric.setup_module(AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(name)))
    optimizer = fabric.setup_optimizers(torch.optim.AdamW(model.parameters(), lr=1e-4))

    def loader(batches):
        return DataLoader(torch.randint(0, 50000, (2 * batches, 256)), batch_size=2)

    train_loader, val_loader = fabric.setup_dataloaders(loader(4), loader(2))
    for epoch in range(2):
        model.train()
        for x in train_loader:
            optimizer.zero_grad()
            outputs = model(input_ids=x, labels=x)
            fabric.backward(outputs.loss)
            fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=False)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = [model(input_ids=x, labels=x).loss for x in val_loader]
            fabric.log("val_loss", torch.stack(losses).mean())
        fabric.save("state.ckpt", {"model": model, "optimizer": optimizer, "epoch": epoch})
    fabric.load("state.ckpt", {"model": model, "optimizer": optimizer})


fabric = Fabric(accelerator="gpu", devices=1, precision=sys.argv[1])
fabric.launch(train, sys.argv[2])
