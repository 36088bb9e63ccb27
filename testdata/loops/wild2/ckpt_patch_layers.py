"""MLM training where every encoder layer is checkpointed by patching its forward."""
import argparse
from functools import partial

import torch
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForMaskedLM

def find_layers(model):
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) >= 2:
            return module
    raise RuntimeError("no layer list")


def checkpoint_layers(model, every=1):
    for i, layer in enumerate(find_layers(model)):
        if i % every == 0:
            layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
    return model


def mask_tokens(ids, vocab_size, mask_id, prob=0.15):
    labels = ids.clone()
    picked = torch.rand(ids.shape, device=ids.device) < prob
    labels[~picked] = -100
    ids = ids.masked_fill(picked, mask_id)
    return ids, labels


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", type=str, required=True)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--every", type=int, default=1)
    ap.add_argument("--iters", type=int, default=6)
    args = ap.parse_args()
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    config = AutoConfig.from_pretrained(args.config)
    model = checkpoint_layers(AutoModelForMaskedLM.from_config(config), args.every)
    model.to(device).train()
    optim = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-6)
    for it in range(args.iters):
        tokens = torch.randint(10, config.vocab_size, (args.batch_size, args.seq_len), device=device)
        inputs, labels = mask_tokens(tokens, config.vocab_size, 4)
        loss = model(input_ids=inputs, labels=labels).loss
        loss.backward()
        optim.step()
        optim.zero_grad()
        print(it, loss.item())
