# SPDX-License-Identifier: Apache-2.0
"""Runs one of the batch-size finders of other libraries on the examples/new_llm model, with capped GPU memory.

    python finders.py --cap 24 accelerate                                # on a GPU
    python finders.py --tiny --pretend 6 --start 8 lightning-power       # on a CPU: a batch above 6 runs out of memory

Prints one JSON object: trials, seconds with the imports, the batch found, and samples per second at that batch, which is measured
afterwards. snug tune on the same case is sweep.py --tune. All of these finders change the effective batch, and none measures speed.
Lightning's go up from the example's batch; accelerate's, which transformers uses too, go down from the effective batch.
"""
import time

BEGAN = time.time()  # before the imports
import argparse
import importlib.util
import json
import os
import sys
import tempfile

import torch
import torch.nn.functional as F

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
p = argparse.ArgumentParser()
p.add_argument("finder", choices=["accelerate", "transformers", "lightning-power", "lightning-binsearch"])
p.add_argument("--cap", type=float, default=24, help="GiB")
p.add_argument("--start", type=int, help="the batch to start with")
p.add_argument("--tiny", action="store_true")
p.add_argument("--pretend", type=int, default=0, help="a batch above this runs out of memory")
a = p.parse_args()
VOCABULARY, LENGTH, WIDTH = (100, 8, 16) if a.tiny else (50257, 256, 512)
START = a.start or (8 if "lightning" in a.finder else 192)
spec = importlib.util.spec_from_file_location("new_llm", os.path.join(cases.EXAMPLES, "new_llm", "train.py"))
new_llm = importlib.util.module_from_spec(spec)
spec.loader.exec_module(new_llm)
tried = []


def loss_of(model, ids):
    if not tried or tried[-1] != len(ids):
        tried.append(len(ids))
    if a.pretend and len(ids) > a.pretend:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    logits, reconstruction = model(ids)
    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1)) + reconstruction


def loop(batch, steps):
    """Trains for some steps and returns samples per second after the warm-up."""
    model = new_llm.NewLLM(VOCABULARY, WIDTH, WIDTH).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(steps):
        loss = loss_of(model, torch.randint(0, VOCABULARY, (batch, LENGTH)).to(DEVICE))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        if step == cases.WARM_UP - 1:
            began = time.time()
    return batch * (steps - cases.WARM_UP) / (time.time() - began) if steps > cases.WARM_UP else None


def accelerate():
    from accelerate.utils import find_executable_batch_size

    @find_executable_batch_size(starting_batch_size=START)
    def inner(batch):
        loop(batch, 3)
        return batch
    return inner


def transformers():
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = new_llm.NewLLM(VOCABULARY, WIDTH, WIDTH)

        def forward(self, ids):
            return {"loss": loss_of(self.model, ids)}

    def find():
        rows = [{"ids": x} for x in torch.randint(0, VOCABULARY, (4096, LENGTH))]
        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(Model(), TrainingArguments(
                folder, auto_find_batch_size=True, per_device_train_batch_size=START, max_steps=3, optim="adamw_torch", save_strategy="no",
                report_to=[], disable_tqdm=True, remove_unused_columns=False), train_dataset=rows, data_collator=lambda rows: {"ids": torch.stack([r["ids"] for r in rows])})
            trainer.train()
        return trainer._train_batch_size
    return find


def lightning():
    import lightning as L
    from lightning.pytorch.tuner import Tuner

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.batch_size = new_llm.NewLLM(VOCABULARY, WIDTH, WIDTH), START

        def training_step(self, ids):
            return loss_of(self.model, ids)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

        def train_dataloader(self):
            return torch.utils.data.DataLoader(torch.randint(0, VOCABULARY, (4096, LENGTH)), batch_size=self.batch_size)

    def find():
        trainer = L.Trainer(accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, default_root_dir=tempfile.mkdtemp())
        return Tuner(trainer).scale_batch_size(Module(), mode=a.finder.split("-")[1], init_val=START)
    return find


find = lightning() if "lightning" in a.finder else globals()[a.finder]()
imports = time.time() - BEGAN
cases.wait_for_gpu()
began = time.time()
if DEVICE == "cuda":
    torch.cuda.set_per_process_memory_fraction(min(1.0, a.cap * 2**30 / torch.cuda.get_device_properties(0).total_memory))
row = {"finder": a.finder, "cap": a.cap}
try:
    batch = find()
    row.update(batch=batch, trials=len(tried), tried=list(tried), seconds=round(imports + time.time() - began, 1))
    if DEVICE == "cuda":
        torch.cuda.empty_cache()
    rate = loop(batch, 10)
    row.update(samples_per_second=round(rate, 2))
except Exception as err:
    row.update(why="%s: %s" % (type(err).__name__, str(err)[:300]), tried=list(tried), seconds=round(imports + time.time() - began, 1))
print(json.dumps(row), flush=True)
sys.exit("why" in row)
