import torch
from net import Decoder, batch, next_token_loss

model = Decoder(vocab=32000).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


@torch.no_grad()
def evaluate():
    model.eval()
    losses = []
    for _ in range(4):
        ids = batch(64, 1024, 32000)
        losses.append(next_token_loss(model(ids), ids).item())
    model.train()
    return sum(losses) / len(losses)


for step in range(200):
    ids = batch(4, 512, 32000)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print("step", step, "loss", loss.item())
    if step == 40:
        print("evaluation:", evaluate())
