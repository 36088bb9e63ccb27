# SPDX-License-Identifier: Apache-2.0
"""Runs the batch-size finders of Lightning and accelerate on the examples/new_llm model, with capped GPU memory.

    python finders.py --cap 24               # on a GPU
    python finders.py --tiny --pretend 6     # on a CPU: a batch above 6 runs out of memory

Prints one JSON object for each finder: trials, seconds, the batch that it found, samples per second at that batch. snug tune on
the same case is sweep.py new_llm. Both finders change the effective batch, and neither measures speed.
"""
import argparse
import importlib.util
import json
import os
import sys
import time

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
p = argparse.ArgumentParser()
p.add_argument("--cap", type=float, default=24, help="GiB")
p.add_argument("--steps", type=int, default=20)
p.add_argument("--start", type=int, default=8, help="the batch that Lightning starts with")
p.add_argument("--tiny", action="store_true")
p.add_argument("--pretend", type=int, default=0, help="a batch above this runs out of memory")
a = p.parse_args()
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VOCABULARY, LENGTH, WIDTH = (100, 8, 16) if a.tiny else (50257, 256, 512)
if DEVICE == "cuda":
    torch.cuda.set_per_process_memory_fraction(min(1.0, a.cap * 2**30 / torch.cuda.get_device_properties(0).total_memory))
spec = importlib.util.spec_from_file_location("new_llm", os.path.join(HERE, "..", "..", "examples", "new_llm", "train.py"))
new_llm = importlib.util.module_from_spec(spec)
spec.loader.exec_module(new_llm)
tried = []


def loss_of(model, ids):
    if a.pretend and len(ids) > a.pretend:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    out = model(ids)
    out = out[0] if isinstance(out, tuple) else out
    return F.cross_entropy(out[:, :-1].reshape(-1, out.shape[-1]).float(), ids[:, 1:].reshape(-1))


def loop(batch):
    """Trains for some steps and returns samples per second, excluding the first steps."""
    tried.append(batch)
    model = new_llm.NewLLM(VOCABULARY, WIDTH, WIDTH).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(a.steps):
        if step == 3:
            if DEVICE == "cuda":
                torch.cuda.synchronize()
            began = time.time()
        loss_of(model, torch.randint(0, VOCABULARY, (batch, LENGTH), device=DEVICE)).backward()
        optimizer.step()
        optimizer.zero_grad()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return batch * (a.steps - 3) / (time.time() - began)


def by_accelerate():
    from accelerate.utils import find_executable_batch_size

    @find_executable_batch_size(starting_batch_size=8 if a.tiny else 512)
    def inner(batch):
        return batch, loop(batch)
    return inner()


def by_lightning():
    import lightning
    from lightning.pytorch.callbacks import BatchSizeFinder

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.batch_size, self.automatic_optimization = new_llm.NewLLM(VOCABULARY, WIDTH, WIDTH), a.start, True

        def training_step(self, ids):
            if not tried or tried[-1] != len(ids):
                tried.append(len(ids))
            return loss_of(self.model, ids)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

        def train_dataloader(self):
            return torch.utils.data.DataLoader(torch.randint(0, VOCABULARY, (4096, LENGTH)), batch_size=self.batch_size)
    module = Module()
    trainer = lightning.Trainer(max_steps=1, accelerator="auto", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, callbacks=[BatchSizeFinder(mode="binsearch", steps_per_trial=3)])
    trainer.fit(module)
    trials = list(tried)
    rate = loop(module.batch_size)
    tried[:] = trials
    return module.batch_size, rate


for name, find in ("accelerate", by_accelerate), ("lightning", by_lightning):
    tried.clear()
    began = time.time()
    try:
        batch, rate = find()
    except ImportError as err:
        print("%s: skipped, %s" % (name, err), file=sys.stderr)
        continue
    print(json.dumps(dict(finder=name, cap=a.cap, batch=batch, samples_per_second=round(rate, 2), trials=len(tried), tried=tried, seconds=round(time.time() - began, 1))), flush=True)
