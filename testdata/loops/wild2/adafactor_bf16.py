import argparse
from dataclasses import dataclass, fields

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.optimization import Adafactor


@dataclass
class TrainConfig:
    config: str = "models/gpt2"
    batch_size: int = 4
    seq_len: int = 512
    steps: int = 6
    relative_step: bool = True
    gradient_checkpointing: bool = False

    @classmethod
    def from_cli(cls):
        ap = argparse.ArgumentParser()
        for f in fields(cls):
            flag = "--" + f.name.replace("_", "-")
            if f.type is bool:
                ap.add_argument(flag, action=argparse.BooleanOptionalAction, default=f.default)
            else:
                ap.add_argument(flag, type=f.type, default=f.default)
        return cls(**vars(ap.parse_args()))


def make_model(tc: TrainConfig, device):
    hf_config = AutoConfig.from_pretrained(tc.config)
    model = AutoModelForCausalLM.from_config(hf_config)
    model.bfloat16()
    if tc.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.config.use_cache = False
    return model.to(device)


def main():
    tc = TrainConfig.from_cli()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = make_model(tc, device)
    if tc.relative_step:
        opt = Adafactor(model.parameters(), scale_parameter=True, relative_step=True, warmup_init=True, lr=None)
    else:
        opt = Adafactor(model.parameters(), scale_parameter=False, relative_step=False, lr=1e-3, beta1=0.9)
    model.train()
    for n in range(tc.steps):
        ids = torch.randint(model.config.vocab_size, (tc.batch_size, tc.seq_len), device=device)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if n % 2 == 0:
            print(n, loss.detach().float().cpu().numpy())


main()
