import torch
from net import Decoder, batch, next_token_loss

model = Decoder(layers=4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
total = 0
for step in range(2000):
    ids = batch(8, 128)
    loss = next_token_loss(model(ids), ids)
    loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    total += loss
    if step % 10 == 0:
        print(f"step {step} mean loss {float(total) / (step + 1):.4f} allocated {torch.cuda.memory_allocated() / 2**20:.0f} MiB")
