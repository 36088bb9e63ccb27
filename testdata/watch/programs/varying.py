import random, sys, time
import torch
from net import Decoder, batch, next_token_loss

random.seed(3)
model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
end = time.time() + float(sys.argv[1])
step = 0
while time.time() < end:
    ids = batch(8, min(1600, int(random.lognormvariate(5.6, 0.6)) + 16))
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
print("steps", step)
