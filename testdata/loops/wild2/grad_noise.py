import argparse, math
import torch
from transformers import AutoConfig, AutoModelForCausalLM


class Run:
    """tiny stand-in for wandb.run"""
    def __init__(self, project, config):
        self.project, self.config, self.rows = project, config, []

    def log(self, row, step=None):
        self.rows.append((step, row))
        print(step, {k: round(v, 4) for k, v in row.items()})

    def finish(self):
        print(self.project, "finished with", len(self.rows), "rows")


def add_gradient_noise(model, eta, gamma, t):
    std = math.sqrt(eta / (1 + t) ** gamma)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.add_(torch.randn_like(p.grad) * std)


def weight_norm(model):
    return torch.sqrt(sum(p.detach().float().pow(2).sum() for p in model.parameters())).item()


def grad_norm(model):
    total = 0.0
    for p in model.parameters():
        if p.grad is not None:
            total += p.grad.data.norm(2).item() ** 2
    return total ** 0.5


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", type=str, required=True)
    ap.add_argument("--bs", type=int, default=4)
    ap.add_argument("--block", type=int, default=256)
    ap.add_argument("--eta", type=float, default=0.01)
    ap.add_argument("--gamma", type=float, default=0.55)
    args = ap.parse_args()
    run = Run("grad-noise", vars(args))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(cfg).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, amsgrad=True)
    try:
        for step in range(6):
            x = torch.randint(0, cfg.vocab_size, (args.bs, args.block)).to(device)
            loss = model(x, labels=x).loss
            optimizer.zero_grad()
            loss.backward()
            g = grad_norm(model)
            add_gradient_noise(model, args.eta, args.gamma, step)
            optimizer.step()
            run.log({"loss": loss.item(), "grad": g, "weights": weight_norm(model)}, step=step)
    finally:
        run.finish()


if __name__ == "__main__":
    main()
