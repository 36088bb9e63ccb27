import torch
from net import Decoder, batch, next_token_loss

model = Decoder(layers=4).cuda()
features = {}


def keep(name):
    def hook(module, inputs, output):
        features.setdefault(name, []).append(output)
    return hook


for i, block in enumerate(model.blocks):
    block.register_forward_hook(keep(f"block{i}"))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(3000):
    ids = batch(8, 128)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 20 == 0:
        print("step", step, "loss", loss.item(), flush=True)
