import sys, time
import torch
from net import Decoder, batch, next_token_loss

model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
start, lasts = time.time(), float(sys.argv[1])
step = 0
while time.time() < start + lasts:
    length = min(128 + step, 640)
    ids = batch(12, length)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
print("steps", step)
