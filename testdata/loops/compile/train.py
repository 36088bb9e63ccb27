import argparse

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageClassification, AutoModelForMaskedLM


def step(model, optimizer, batch, precision):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "amp-bf16"):
        loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config"), p.add_argument("--batch-size", type=int), p.add_argument("--seq-len", type=int, default=0)
    p.add_argument("--precision", default="amp-bf16"), p.add_argument("--compile", action="store_true")
    p.add_argument("--checkpointing", action="store_true")
    a = p.parse_args()
    config = AutoConfig.from_pretrained(a.config)
    kind = {"bert": AutoModelForMaskedLM, "roberta": AutoModelForMaskedLM, "vit": AutoModelForImageClassification}.get(config.model_type, AutoModelForCausalLM)
    model = kind.from_config(config)
    if a.precision == "bf16":
        model = model.bfloat16()
    model.cuda().train()
    model.config.use_cache = False
    if a.checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters())
    if a.compile:
        model = torch.compile(model)
    for _ in range(4):
        if config.model_type == "vit":
            batch = {"pixel_values": torch.randn(a.batch_size, 3, 224, 224).cuda(), "labels": torch.randint(0, 2, (a.batch_size,)).cuda()}
        else:
            ids = torch.randint(0, config.vocab_size, (a.batch_size, a.seq_len)).cuda()
            batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
        step(model, optimizer, batch, a.precision)


main()
