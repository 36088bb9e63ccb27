import argparse

import torch
from torch.optim import SGD, AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from transformers import AutoConfig, AutoModelForCausalLM


def split_parameters(model):
    matrices, others = [], []
    for name, p in model.named_parameters():
        if p.ndim == 2 and "embed" not in name and "wte" not in name and "lm_head" not in name:
            matrices.append(p)
        else:
            others.append(p)
    return matrices, others


def train(model, vocab, batch_size, seq_len, steps):
    matrices, others = split_parameters(model)
    optimizers = [SGD(matrices, lr=0.02, momentum=0.95, nesterov=True), AdamW(others, lr=3e-4, betas=(0.8, 0.95))]
    schedulers = []
    for o in optimizers:
        warm = LinearLR(o, start_factor=0.1, total_iters=2)
        schedulers.append(SequentialLR(o, [warm, CosineAnnealingLR(o, T_max=steps)], milestones=[2]))

    loss_history = torch.zeros(steps, device="cuda")
    for step in range(steps):
        tokens = torch.randint(vocab, (batch_size, seq_len)).to("cuda", non_blocking=True)
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            loss = model(tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        loss_history[step] = loss.detach()
        for o, s in zip(optimizers, schedulers):
            o.step()
            s.step()
        model.zero_grad(set_to_none=True)
    return loss_history.cpu().tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to("cuda").train()
    print(train(model, config.vocab_size, args.batch_size, args.seq_len, args.steps))
