import argparse
import numpy as np
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForSequenceClassification

ap = argparse.ArgumentParser()
ap.add_argument("--config", required=True)
ap.add_argument("--batch_size", type=int, default=16)
ap.add_argument("--max_len", type=int, default=128)
ap.add_argument("--alpha", type=float, default=0.4)
ap.add_argument("--num_steps", type=int, default=6)
ap.add_argument("--fp16", action="store_true")
hp = ap.parse_args()

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
config = AutoConfig.from_pretrained(hp.config, num_labels=3)
model = AutoModelForSequenceClassification.from_config(config).to(device)
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-5)
use_amp = hp.fp16 and device.type == "cuda"
scaler = torch.GradScaler(device.type, enabled=use_amp)


def soft_ce(logits, target):
    return -(target * F.log_softmax(logits, dim=-1)).sum(-1).mean()


def mix(a, perm, lam):
    return lam * a + (1 - lam) * a[perm]


best = None
for step in range(hp.num_steps):
    ids = torch.randint(config.vocab_size, (hp.batch_size, hp.max_len)).to(device)
    y = F.one_hot(torch.randint(3, (hp.batch_size,)), 3).float().to(device)
    lam = float(np.random.beta(hp.alpha, hp.alpha))
    perm = torch.randperm(hp.batch_size, device=device)
    with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
        emb = model.get_input_embeddings()(ids)
        logits_clean = model(inputs_embeds=emb).logits
        logits_mixed = model(inputs_embeds=mix(emb, perm, lam)).logits
        loss = soft_ce(logits_clean, y) + soft_ce(logits_mixed, mix(y, perm, lam))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if best is None or loss < best:
        best = loss.detach()
    print(step, loss.item(), "best", best.item())
