import copy
import torch
from net import Decoder, batch, next_token_loss

model = Decoder(width=1024, layers=8).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
best, kept = None, []
for step in range(1000):
    ids = batch(4, 256)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 20 == 19:
        kept.append(copy.deepcopy(model.state_dict()))
        print(f"step {step}: saved, loss {loss.item():.4f}")
