import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, IterableDataset
from transformers import AutoConfig, AutoModelForCausalLM


class Stream(IterableDataset):
    def __iter__(self):
        for _ in range(12):
            block = torch.randint(0, 50000, (256,))
            yield {"input_ids": block, "labels": block}


accelerator = Accelerator()
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[2]))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(Stream(), batch_size=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()
for step, batch in enumerate(loader):
    optimizer.zero_grad()
    loss = model(**batch).loss
    accelerator.backward(loss)
    norm = accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    accelerator.print(step, loss.item(), norm.item())
