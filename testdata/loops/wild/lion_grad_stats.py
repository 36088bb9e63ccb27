import argparse
from collections import OrderedDict

import torch
from torch.optim.optimizer import Optimizer
from transformers import AutoConfig, AutoModelForCausalLM


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = state["exp_avg"] * beta1 + p.grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                state["exp_avg"].mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


def gradient_report(model):
    report = OrderedDict()
    for name, p in model.named_parameters():
        if p.grad is not None:
            report[name] = (p.grad.norm().item(), p.detach().abs().mean().item())
    return report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).cuda()
    optimizer = Lion(model.parameters(), lr=3e-5, weight_decay=1.0)
    reports = []
    for step in range(args.steps):
        ids = torch.randint(config.vocab_size, (args.batch_size, args.seq_len)).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=ids).loss
        model.zero_grad()
        loss.backward()
        reports.append(gradient_report(model))
        optimizer.step()
        worst = max(reports[-1].items(), key=lambda kv: kv[1][0])
        print(step, loss.item(), "largest gradient:", worst[0], worst[1][0])


if __name__ == "__main__":
    main()
