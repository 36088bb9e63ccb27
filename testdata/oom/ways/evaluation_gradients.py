import torch
from net import Decoder, batch, next_token_loss

model = Decoder().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def validate():
    model.eval()
    losses = []
    for _ in range(50):
        ids = batch(8, 512)
        losses.append(next_token_loss(model(ids), ids))
    model.train()
    return torch.stack(losses).mean()


for epoch in range(3):
    for step in range(20):
        ids = batch(8, 512)
        loss = next_token_loss(model(ids), ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch} train {loss.item():.4f} val {validate().item():.4f}")
