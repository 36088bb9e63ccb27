import sys
from pathlib import Path

import torch
import yaml
from transformers import AutoConfig, AutoModelForCausalLM


def load_cfg(argv):
    """yaml next to this file, then key=value overrides from the command line"""
    with open(Path(__file__).with_suffix(".yaml")) as f:
        cfg = yaml.safe_load(f)
    for item in argv:
        key, value = item.split("=", 1)
        node = cfg
        *parents, leaf = key.split(".")
        for k in parents:
            node = node.setdefault(k, {})
        node[leaf] = yaml.safe_load(value)
    return cfg


def build_optimizer(params, spec):
    spec = dict(spec)
    cls = getattr(torch.optim, spec.pop("name"))
    return cls(params, **spec)


def build_scheduler(optimizer, spec):
    spec = dict(spec)
    cls = getattr(torch.optim.lr_scheduler, spec.pop("name"))
    return cls(optimizer, **spec)


def batches(vocab, bs, length, device):
    gen = torch.Generator().manual_seed(11)
    while True:
        yield torch.randint(vocab, (bs, length), generator=gen).to(device)


def run(cfg):
    torch.manual_seed(cfg["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    hf = AutoConfig.from_pretrained(cfg["model"])
    model = AutoModelForCausalLM.from_config(hf).to(device)
    optimizer = build_optimizer(model.parameters(), cfg["optimizer"])
    scheduler = build_scheduler(optimizer, cfg["scheduler"])
    tc = cfg["train"]
    stream = batches(hf.vocab_size, cfg["data"]["batch_size"], cfg["data"]["seq_len"], device)
    for step in range(1, tc["steps"] + 1):
        ids = next(stream)
        loss = model(ids, labels=ids)["loss"] / tc["accumulate"]
        loss.backward()
        if step % tc["accumulate"] == 0:
            if tc.get("clip"):
                torch.nn.utils.clip_grad_norm_(model.parameters(), tc["clip"])
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            print({"step": step, "loss": round(loss.item() * tc["accumulate"], 4)})


if __name__ == "__main__":
    run(load_cfg(sys.argv[1:]))
