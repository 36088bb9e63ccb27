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


def train_step(ids):
    ids = ids.to(device)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


for step, ids in enumerate(loader):
    print(step, train_step(ids))
