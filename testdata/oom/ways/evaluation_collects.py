import torch
from net import Decoder, batch, next_token_loss

model = Decoder(vocab=32000).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def evaluate(batches):
    model.eval()
    predictions, labels = [], []
    with torch.no_grad():
        for _ in range(batches):
            ids = batch(4, 512, 32000)
            predictions.append(model(ids))
            labels.append(ids)
    return torch.cat(predictions).argmax(-1).eq(torch.cat(labels)).float().mean()


for step in range(30):
    ids = batch(4, 512, 32000)
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained, loss", loss.item())
print("accuracy", evaluate(200).item())
