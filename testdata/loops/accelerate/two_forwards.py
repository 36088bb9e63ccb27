import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--batch-size", type=int, default=6)
parser.add_argument("--seq-len", type=int, default=512)
parser.add_argument("--steps", type=int, default=6)
args = parser.parse_args()

accelerator = Accelerator(mixed_precision="bf16")
config = AutoConfig.from_pretrained(args.config)
model = AutoModelForCausalLM.from_config(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(torch.randint(0, config.vocab_size, (args.batch_size * args.steps, args.seq_len)), batch_size=args.batch_size)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()

for input_ids in loader:
    with torch.no_grad():
        reference = model(input_ids=input_ids).logits.argmax(-1)
    outputs = model(input_ids=input_ids, labels=input_ids)
    agreement = (outputs.logits.argmax(-1) == reference).float().mean()
    accelerator.backward(outputs.loss)
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.print(f"loss {outputs.loss.item():.3f} agreement {agreement.item():.3f}")
