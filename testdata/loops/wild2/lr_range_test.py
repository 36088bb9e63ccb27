import argparse
import copy
import torch
from transformers import AutoConfig, AutoModelForCausalLM


def make_batch(vocab, bs, sl, device):
    return torch.randint(vocab, (bs, sl), device=device)


def lr_range_test(model, optimizer, next_batch, lo=1e-7, hi=1e-2, n=5):
    """raises the lr exponentially, then puts model and optimizer back as they were"""
    model_state = copy.deepcopy(model.state_dict())
    opt_state = copy.deepcopy(optimizer.state_dict())
    curve = []
    for k in range(n):
        lr = lo * (hi / lo) ** (k / (n - 1))
        for g in optimizer.param_groups:
            g["lr"] = lr
        x = next_batch()
        loss = model(x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        curve.append((loss.item(), lr))
    model.load_state_dict(model_state)
    optimizer.load_state_dict(opt_state)
    return min(curve)[1] / 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(cfg)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7, betas=(0.9, 0.95))
    nb = lambda: make_batch(cfg.vocab_size, args.batch_size, args.seq_len, device)
    lr = lr_range_test(model, optimizer, nb)
    print("picked", lr)
    for g in optimizer.param_groups:
        g["lr"] = lr
    for step in range(4):
        x = nb()
        loss = model(x, labels=x).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())


if __name__ == "__main__":
    main()
