import argparse

import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--batch-size", type=int, default=6)
parser.add_argument("--seq-len", type=int, default=512)
parser.add_argument("--steps", type=int, default=6)
args = parser.parse_args()

device = torch.device("cuda")
config = AutoConfig.from_pretrained(args.config)
model = AutoModelForCausalLM.from_config(config)
model.to(device)
model.train()

texts = torch.randint(0, config.vocab_size, (args.batch_size * args.steps, args.seq_len))
loader = DataLoader(texts, batch_size=args.batch_size)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda", init_scale=1024)

for step, ids in enumerate(loader):
    ids = ids.to(device, non_blocking=True)
    with torch.autocast("cuda", dtype=torch.float16):
        output = model(ids, labels=ids)
    scaler.scale(output.loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
