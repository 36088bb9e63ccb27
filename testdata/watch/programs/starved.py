import sys, time
import torch
from net import Decoder, batch, next_token_loss

model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
end = time.time() + float(sys.argv[1])
while time.time() < end:
    time.sleep(0.25)
    ids = batch(24, 512)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
