"""A large contrastive batch in chunks: embed without graphs, get the gradient at the embeddings, embed again with it."""
import argparse

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel


def pooled(model, ids):
    h = model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    return F.normalize(h.mean(dim=1), dim=-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--chunk", type=int, default=16)
    ap.add_argument("--seq-len", type=int, default=64)
    args = ap.parse_args()
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModel.from_config(cfg).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step in range(3):
        q = torch.randint(0, cfg.vocab_size, (args.batch_size, args.seq_len), device="cuda")
        d = torch.randint(0, cfg.vocab_size, (args.batch_size, args.seq_len), device="cuda")
        with torch.no_grad():
            eq = torch.cat([pooled(model, c) for c in q.split(args.chunk)])
            ed = torch.cat([pooled(model, c) for c in d.split(args.chunk)])
        eq.requires_grad_()
        ed.requires_grad_()
        scores = eq @ ed.T * 20
        loss = F.cross_entropy(scores, torch.arange(args.batch_size, device="cuda"))
        loss.backward()
        for ids, grads in ((q, eq.grad), (d, ed.grad)):
            for chunk, g in zip(ids.split(args.chunk), grads.split(args.chunk)):
                emb = pooled(model, chunk)
                (emb * g).sum().backward()
        opt.step()
        opt.zero_grad()
        print(step, loss.item())


if __name__ == "__main__":
    main()
