import random
import torch
from net import Decoder, batch, next_token_loss

random.seed(1)
model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
lengths = [random.randint(200, 400) for _ in range(60)]
lengths[37] = 7900
for step, length in enumerate(lengths):
    ids = batch(8, length)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} shape {tuple(ids.shape)} loss {loss.item():.3f}")
