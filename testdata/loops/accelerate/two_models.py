import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForCausalLM

set_seed(0)
accelerator = Accelerator(mixed_precision=sys.argv[1], gradient_accumulation_steps=2)
config = AutoConfig.from_pretrained(sys.argv[2])
student = AutoModelForCausalLM.from_config(config)
teacher = AutoModelForCausalLM.from_config(config)
teacher.requires_grad_(False)
teacher.eval()
optimizer = torch.optim.SGD(student.parameters(), lr=1e-3, momentum=0.9)
loader = DataLoader(TensorDataset(torch.randint(0, 50000, (13, 256))), batch_size=2)
loader, teacher, optimizer, student = accelerator.prepare(loader, teacher, optimizer, student)
for epoch in range(2):
    student.train()
    kept = []
    for (x,) in loader:
        with accelerator.accumulate(student):
            with torch.no_grad():
                target = teacher(input_ids=x, use_cache=False).logits
            logits = student(input_ids=x, use_cache=False).logits
            with accelerator.autocast():
                loss = (logits - target).pow(2).mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norm = accelerator.clip_grad_norm_(student.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        kept.append(accelerator.gather_for_metrics(logits.argmax(-1)))
    accelerator.print(epoch, torch.cat(kept).float().mean().item())
    accelerator.save_state("checkpoint")
accelerator.load_state("checkpoint")
