import argparse

import torch

from model import GPT

parser = argparse.ArgumentParser()
parser.add_argument("--n_layer", type=int, default=6)
parser.add_argument("--n_head", type=int, default=8)
parser.add_argument("--n_embd", type=int, default=384)
parser.add_argument("--block_size", type=int, default=512)
parser.add_argument("--vocab_size", type=int, default=8192)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--max_iters", type=int, default=12)
parser.add_argument("--eval_interval", type=int, default=6)
parser.add_argument("--eval_iters", type=int, default=3)
parser.add_argument("--lr", type=float, default=6e-4)
args = parser.parse_args()

torch.manual_seed(1337)
device = "cuda"

data = torch.randint(0, args.vocab_size, (400_000,))
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - args.block_size, (args.batch_size,))
    x = torch.stack([d[i:i + args.block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + args.block_size] for i in ix])
    return x.to(device), y.to(device)


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(args.eval_iters)
        for k in range(args.eval_iters):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


model = GPT(args).to(device)
print(sum(p.numel() for p in model.parameters()) / 1e6, "M parameters")
optimizer = model.configure_optimizers(args.lr, 0.1)

for it in range(args.max_iters):
    if it % args.eval_interval == 0 or it == args.max_iters - 1:
        losses = estimate_loss()
        print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    xb, yb = get_batch("train")
    logits, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

context = torch.zeros((1, 1), dtype=torch.long, device=device)
print(model.generate(context, max_new_tokens=20, top_k=50)[0].tolist())
