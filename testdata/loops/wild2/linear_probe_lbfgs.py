"""Extract features once, keep them on the device, fit a softmax head with L-BFGS."""
import argparse
import torch
import torch.nn as nn
from transformers import AutoConfig, AutoModel


def extract(backbone, n, args, vocab, device):
    feats = []
    backbone.eval()
    with torch.inference_mode():
        for _ in range(n):
            ids = torch.randint(vocab, (args.batch_size, args.seq_len), device=device)
            out = backbone(ids, output_hidden_states=True)
            last4 = torch.stack(out.hidden_states[-4:]).mean(0)
            feats.append(last4.mean(1))
    return torch.cat(feats).clone()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--classes", type=int, default=1000)
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cfg = AutoConfig.from_pretrained(args.config)
    backbone = AutoModel.from_config(cfg).to(device)
    x = extract(backbone, 8, args, cfg.vocab_size, device).detach()
    y = torch.randint(args.classes, (len(x),), device=device)
    head = nn.Linear(cfg.hidden_size, args.classes).to(device)
    optimizer = torch.optim.LBFGS(head.parameters(), lr=0.5, max_iter=8, history_size=6, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(x), y) + 1e-3 * head.weight.pow(2).sum()
        loss.backward()
        return loss

    for epoch in range(5):
        loss = optimizer.step(closure)
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
