"""Classification with a gradient penalty on the word embeddings (double backward)."""
import argparse
import torch
from torch import nn, optim
from transformers import AutoConfig, AutoModelForSequenceClassification


def penalty(loss, emb):
    (g,) = torch.autograd.grad(loss, emb, create_graph=True)
    return g.flatten(1).norm(dim=1).pow(2).mean()


def main(config, batch_size, seq_len, weight, steps):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cfg = AutoConfig.from_pretrained(config, num_labels=2, attn_implementation="eager")
    model = AutoModelForSequenceClassification.from_config(cfg).to(device).train()
    opt = optim.AdamW(model.parameters(), lr=1e-5)
    for i in range(steps):
        ids = torch.randint(cfg.vocab_size, (batch_size, seq_len), device=device)
        y = torch.randint(2, (batch_size,), device=device)
        emb = model.get_input_embeddings()(ids)
        logits = model(inputs_embeds=emb).logits
        ce = nn.functional.cross_entropy(logits, y)
        gp = penalty(ce, emb)
        loss = ce + weight * gp
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{i} ce {ce.item():.4f} gp {gp.item():.4g}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--seq-len", type=int, default=128)
    p.add_argument("--weight", type=float, default=1.0)
    p.add_argument("--steps", type=int, default=5)
    main(**vars(p.parse_args()))
