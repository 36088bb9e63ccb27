import torch
from net import Decoder, batch, next_token_loss

model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
size = 64


def step(ids):
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


try:
    print(step(batch(size, 1024)))
except torch.cuda.OutOfMemoryError:
    print("out of memory, trying half the batch")
    print(step(batch(size // 2, 1024)))
