import argparse
import torch
import torch.nn as nn
from transformers import AutoConfig, AutoModelForCausalLM


def loss_with_z(logits, labels, z_weight=1e-4):
    logits = logits.float()
    z = torch.logsumexp(logits, dim=-1)
    picked = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    nll = (z - picked).mean()
    return nll + z_weight * (z ** 2).mean(), nll


def get_batch(vocab_size, shape):
    tokens = torch.randint(0, vocab_size, shape)
    return tokens[:, :-1].to("cuda"), tokens[:, 1:].to("cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--lr", type=float, default=1e-4)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)  # whatever dtype the config says
    model.cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    nlls = []
    for iteration in range(7):
        inputs, labels = get_batch(config.vocab_size, (args.batch_size, args.seq_len + 1))
        logits = model(inputs).logits
        loss, nll = loss_with_z(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        total_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        nlls.append(nll)
        print("iteration {} norm {:.2f}".format(iteration, total_norm))
    print("mean nll", torch.stack(nlls).mean().item())


if __name__ == "__main__":
    main()
