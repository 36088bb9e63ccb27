import sys, time
import torch
from net import Decoder, batch, next_token_loss

model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


@torch.no_grad()
def evaluate():
    model.eval()
    for _ in range(8):
        ids = batch(48, 512)
        next_token_loss(model(ids), ids).item()
    model.train()


end = time.time() + float(sys.argv[1])
step = 0
while time.time() < end:
    ids = batch(12, 512)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if step % 50 == 0:
        evaluate()
print("steps", step)
