import sys

import torch
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM, get_scheduler


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 15

    def __getitem__(self, i):
        return torch.randint(0, 50000, (256,)), torch.ones(256, dtype=torch.long)


class Wrapped(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.net = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(name))

    def forward(self, x, mask):
        out = self.net(input_ids=x, attention_mask=mask, labels=x)
        return out.loss, out.logits


plugin = GradientAccumulationPlugin(num_steps=4, sync_with_dataloader=False)
accelerator = Accelerator(mixed_precision=sys.argv[1], gradient_accumulation_plugin=plugin)
model = Wrapped(sys.argv[2])
optimizer = torch.optim.AdamW([{"params": model.parameters()}], lr=1e-4)
scheduler = get_scheduler("linear", optimizer, 0, 6)
train, test = DataLoader(Rows(), batch_size=2, shuffle=True), DataLoader(Rows(), batch_size=4)
model, optimizer, scheduler, train, test = accelerator.prepare(model, optimizer, scheduler, train, test)
for epoch in range(3):
    model.train()
    for x, mask in train:
        with accelerator.accumulate(model):
            loss, _ = model(x, mask)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
    model.eval()
    kept = []
    for x, mask in test:
        with torch.inference_mode():
            loss, logits = model(x, mask)
        kept.append(accelerator.gather_for_metrics((logits.argmax(-1), x)))
