import torch
from net import Decoder, batch, next_token_loss

model = Decoder(layers=4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
history = []


def train_step(ids):
    logits = model(ids)
    loss = next_token_loss(logits, ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append(logits.detach())
    return loss.item()


for step in range(5000):
    value = train_step(batch(4, 256))
    if step % 25 == 0:
        print(f"[{step:>5}] loss={value:.4f}")
