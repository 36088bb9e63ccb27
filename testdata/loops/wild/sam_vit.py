import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, ViTForImageClassification


class SAM(torch.optim.Optimizer):
    """Sharpness-aware minimisation around another optimizer."""

    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def ascent(self):
        norm = self.grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old"] = p.data.clone()
                p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def descent(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old"]
        self.base_optimizer.step()
        self.zero_grad()

    def grad_norm(self):
        norms = [p.grad.norm(p=2) for group in self.param_groups for p in group["params"] if p.grad is not None]
        return torch.norm(torch.stack(norms), p=2)


def smooth_crossentropy(pred, gold, smoothing=0.1):
    n_class = pred.size(1)
    one_hot = torch.full_like(pred, fill_value=smoothing / (n_class - 1))
    one_hot.scatter_(dim=1, index=gold.unsqueeze(1), value=1.0 - smoothing)
    log_prob = torch.nn.functional.log_softmax(pred, dim=1)
    return torch.nn.functional.kl_div(input=log_prob, target=one_hot, reduction="none").sum(-1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", default=32, type=int)
    parser.add_argument("--seq-len", default=0, type=int, help="not used by image models")
    parser.add_argument("--epochs", default=2, type=int)
    args = parser.parse_args()
    device = torch.device("cuda")

    config = AutoConfig.from_pretrained(args.config, num_labels=10)
    model = ViTForImageClassification(config).to(device)
    images = torch.randn(args.batch_size * 4, 3, config.image_size, config.image_size)
    labels = torch.randint(0, 10, (len(images),))
    loader = DataLoader(TensorDataset(images, labels), batch_size=args.batch_size, shuffle=True)
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.05, momentum=0.9)

    for epoch in range(args.epochs):
        model.train()
        for batch in loader:
            inputs, targets = (b.to(device) for b in batch)

            # first forward-backward step
            predictions = model(inputs).logits
            loss = smooth_crossentropy(predictions, targets)
            loss.mean().backward()
            optimizer.ascent()

            # second forward-backward step
            smooth_crossentropy(model(inputs).logits, targets).mean().backward()
            optimizer.descent()

            with torch.no_grad():
                correct = torch.argmax(predictions.data, 1) == targets
                print(epoch, loss.mean().cpu().item(), correct.float().mean().cpu().item())
