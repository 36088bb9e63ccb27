import torch
from net import Decoder, batch, next_token_loss

model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(10):
    ids = batch(192, 1024)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step, "loss", round(loss.item(), 3))
