import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel


class SoftPrompt(nn.Module):
    def __init__(self, wte: nn.Embedding, n_tokens=20, init_from_vocab=True):
        super().__init__()
        if init_from_vocab:
            w = wte.weight[:n_tokens].clone().detach()
        else:
            w = torch.empty(n_tokens, wte.weight.size(1)).uniform_(-0.5, 0.5)
        self.prompt = nn.Parameter(w)
        self.mlp = nn.Sequential(nn.Linear(w.size(1), 512), nn.ReLU(), nn.Linear(512, w.size(1)))

    def forward(self, emb):
        p = (self.prompt + self.mlp(self.prompt)).unsqueeze(0).expand(emb.size(0), -1, -1)
        return torch.cat([p, emb], dim=1)


def lm_loss(logits, labels):
    shift = logits[:, :-1, :].contiguous()
    target = labels[:, 1:].contiguous()
    return F.cross_entropy(shift.view(-1, shift.size(-1)), target.view(-1), ignore_index=-100)


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n_prompt", type=int, default=100)
    ap.add_argument("--bsz", type=int, default=4)
    ap.add_argument("--len", type=int, default=384, dest="seqlen")
    ap.add_argument("--iters", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--out", default="/tmp/soft_prompt.pt")
    return ap.parse_args()


def main():
    args = parse()
    torch.manual_seed(5)
    # gpt2-medium sized
    model = GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=24, n_head=16)).cuda()
    for param in model.parameters():
        param.requires_grad = False
    model.eval()
    wte = model.get_input_embeddings()
    soft = SoftPrompt(wte, args.n_prompt).cuda()
    optimizer = torch.optim.SGD(soft.parameters(), lr=args.lr, momentum=0.9)

    best = float("inf")
    for it in range(args.iters):
        ids = torch.randint(0, model.config.vocab_size, (args.bsz, args.seqlen), device="cuda")
        labels = torch.cat([torch.full((args.bsz, args.n_prompt), -100, device="cuda"), ids], dim=1)
        optimizer.zero_grad()
        logits = model(inputs_embeds=soft(wte(ids))).logits
        loss = lm_loss(logits, labels)
        loss.backward()
        optimizer.step()
        print(f"iter {it:03d} | loss {loss.item():.4f} | |p| {soft.prompt.norm().item():.3f}")
        if loss.item() < best:
            best = loss.item()
            torch.save(soft.state_dict(), args.out)

    soft.load_state_dict(torch.load(args.out))
    os.remove(args.out)
    with torch.no_grad():
        ids = torch.randint(0, model.config.vocab_size, (args.bsz * 4, args.seqlen), device="cuda")
        labels = torch.cat([torch.full((ids.size(0), args.n_prompt), -100, device="cuda"), ids], dim=1)
        print("val", lm_loss(model(inputs_embeds=soft(wte(ids))).logits, labels).item())


if __name__ == "__main__":
    main()
