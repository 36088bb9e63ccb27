import os
import torch
from net import Decoder, batch, next_token_loss

PATH = os.environ.get("OOM_DIR", ".") + "/checkpoint.pt"


def start():
    model = Decoder(vocab=32000, width=1536, layers=8, heads=16).cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4)


def train(model, optimizer, steps):
    for step in range(steps):
        ids = batch(2, 512, 32000)
        loss = next_token_loss(model(ids), ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step, "loss", loss.item())


if not os.path.exists(PATH):
    model, optimizer = start()
    train(model, optimizer, 3)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, PATH)
    del model, optimizer
    torch.cuda.empty_cache()
print("resuming from checkpoint.pt")
model, optimizer = start()
checkpoint = torch.load(PATH, map_location="cuda")
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
train(model, optimizer, 3)
