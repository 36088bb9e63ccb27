import torch
import torch.nn.functional as F
from net import Decoder

VOCAB = 128256
model = Decoder(vocab=VOCAB, width=256, layers=2, heads=4).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(5):
    ids = torch.randint(0, VOCAB, (6, 2048), device="cuda")
    logits = model(ids)
    loss = F.cross_entropy(logits.float().view(-1, VOCAB), ids.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: loss {loss.item():.3f}")
