import sys, time
import torch
from net import Decoder, batch, next_token_loss

size = int(sys.argv[1])
model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
end = time.time() + float(sys.argv[2])
step = 0
while time.time() < end:
    ids = batch(size, 512)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
print("steps", step)
