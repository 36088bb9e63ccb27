"""Training driven by small registries of losses, optimizers and precisions."""
import argparse
import functools
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM

LOSSES = {}


def register(name):
    def wrap(fn):
        LOSSES[name] = fn
        return fn
    return wrap


@register("ce")
def ce(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


@register("smooth")
def smooth(logits, labels, eps=0.1):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=eps)


OPTIMIZERS = {
    "adamw": functools.partial(torch.optim.AdamW, lr=1e-4, weight_decay=0.05),
    "adagrad": functools.partial(torch.optim.Adagrad, lr=1e-3),
    "sgd": functools.partial(torch.optim.SGD, lr=0.1),
}
PRECISION = {
    "fp32": nullcontext,
    "bf16": functools.partial(torch.autocast, device_type="cuda", dtype=torch.bfloat16),
}


@dataclass(frozen=True)
class Options:
    config: str
    batch_size: int
    seq_len: int
    loss: str
    optimizer: str
    precision: str
    steps: int


def parse() -> Options:
    p = argparse.ArgumentParser()
    p.add_argument("--config", required=True)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--seq-len", type=int, default=512)
    p.add_argument("--loss", choices=sorted(LOSSES), default="smooth")
    p.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adamw")
    p.add_argument("--precision", choices=sorted(PRECISION), default="bf16")
    p.add_argument("--steps", type=int, default=6)
    return Options(**vars(p.parse_args()))


def main():
    options = parse()
    print(asdict(options))
    config = AutoConfig.from_pretrained(options.config)
    model = AutoModelForCausalLM.from_config(config).to("cuda")
    criterion = LOSSES[options.loss]
    optimizer = OPTIMIZERS[options.optimizer](model.parameters())
    precision = PRECISION[options.precision]
    for step in range(options.steps):
        tokens = torch.randint(0, config.vocab_size, (options.batch_size, options.seq_len + 1), device="cuda")
        with precision():
            logits = model(input_ids=tokens[:, :-1]).logits
            loss = criterion(logits, tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print({"step": step, "loss": loss.item()})


if __name__ == "__main__":
    main()
