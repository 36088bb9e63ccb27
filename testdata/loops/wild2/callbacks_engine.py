import argparse
from collections import defaultdict

import torch
from transformers import AutoConfig, AutoModelForTokenClassification


class Callback:
    def on_train_begin(self, engine): ...
    def on_batch_begin(self, engine): ...
    def on_batch_end(self, engine): ...
    def on_epoch_end(self, engine): ...


class LossHistory(Callback):
    def on_train_begin(self, engine):
        self.losses = []

    def on_batch_end(self, engine):
        self.losses.append(engine.loss.detach())

    def on_epoch_end(self, engine):
        print("epoch", engine.epoch, "loss", torch.stack(self.losses).mean().item())
        self.losses.clear()


class GradClip(Callback):
    def __init__(self, value):
        self.value = value

    def on_backward_end(self, engine):
        torch.nn.utils.clip_grad_norm_(engine.model.parameters(), self.value)


class Evaluate(Callback):
    def __init__(self, batches):
        self.batches = batches

    def on_epoch_end(self, engine):
        engine.model.eval()
        hits = count = 0
        with torch.inference_mode():
            for x, y in self.batches:
                x, y = x.to(engine.device), y.to(engine.device)
                pred = engine.model(x).logits.argmax(dim=-1)
                hits += pred.eq(y).sum().item()
                count += y.numel()
        engine.model.train()
        engine.metrics["acc"].append(hits / count)


class Engine:
    def __init__(self, model, optimizer, device, callbacks=()):
        self.model, self.optimizer, self.device = model, optimizer, device
        self.callbacks = list(callbacks)
        self.metrics = defaultdict(list)

    def fire(self, event):
        for cb in self.callbacks:
            handler = getattr(cb, event, None)
            if handler is not None:
                handler(self)

    def run(self, batches, epochs):
        self.fire("on_train_begin")
        for self.epoch in range(epochs):
            for x, y in batches:
                self.fire("on_batch_begin")
                x, y = x.to(self.device), y.to(self.device)
                self.loss = self.model(input_ids=x, labels=y).loss
                self.optimizer.zero_grad()
                self.loss.backward()
                self.fire("on_backward_end")
                self.optimizer.step()
                self.fire("on_batch_end")
            self.fire("on_epoch_end")


def cli():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=128)
    return ap.parse_args()


def main():
    args = cli()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cfg = AutoConfig.from_pretrained(args.config)
    cfg.num_labels = 9
    model = AutoModelForTokenClassification.from_config(cfg).to(device)

    def fake(n):
        return [(torch.randint(cfg.vocab_size, (args.batch_size, args.seq_len)),
                 torch.randint(9, (args.batch_size, args.seq_len))) for _ in range(n)]

    engine = Engine(model, torch.optim.AdamW(model.parameters(), lr=5e-5), device,
                    [LossHistory(), GradClip(1.0), Evaluate(fake(2))])
    engine.run(fake(4), epochs=2)
    print(dict(engine.metrics))


if __name__ == "__main__":
    main()
