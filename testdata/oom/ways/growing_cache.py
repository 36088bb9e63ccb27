import torch
from net import Decoder, batch, next_token_loss

model = Decoder(layers=4, vocab=4000).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
seen = {}
for step in range(4000):
    ids = batch(16, 256, 4000)
    hidden = model.tokens(ids)
    seen[step] = hidden
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 50 == 0:
        print(f"{step}/4000 loss {loss.item():.3f} mem {torch.cuda.memory_allocated() >> 20} MB")
