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
val_loader = DataLoader(torch.randint(0, config.vocab_size, (args.batch_size * 8, args.seq_len)), batch_size=2 * args.batch_size)

for step, ids in enumerate(loader):
    model.train()
    ids = ids.to(device)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()

    if step % 3 == 2:
        model.eval()
        total = 0.0
        with torch.no_grad():
            for val_ids in val_loader:
                val_ids = val_ids.to(device)
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    val_loss = model(input_ids=val_ids, labels=val_ids).loss
                total += val_loss.item()
        print("val", total / len(val_loader))
