import torch
from net import Decoder, batch, next_token_loss

model = Decoder(vocab=32000, width=2048, layers=16, heads=16, length=512).cuda()
print("parameters: %.1f M" % (sum(p.numel() for p in model.parameters()) / 1e6))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(10):
    ids = batch(1, 128, 32000)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step, "loss", round(loss.item(), 3))
