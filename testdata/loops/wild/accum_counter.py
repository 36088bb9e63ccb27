import argparse
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForMaskedLM

parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--seq-len", type=int, default=256)
parser.add_argument("--accumulate", type=int, default=3)


class Learner:
    def __init__(self, args):
        self.args = args
        self.cfg = AutoConfig.from_pretrained(args.config)
        self.model = AutoModelForMaskedLM.from_config(self.cfg)
        self.model.cuda()
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.accumulated = 0
        self.global_step = 0
        self.log = []

    def batches(self):
        n = self.args.batch_size * 10
        x = torch.randint(0, self.cfg.vocab_size, (n, self.args.seq_len))
        y = torch.where(torch.rand(x.shape) < 0.15, x, torch.full_like(x, -100))
        return DataLoader(TensorDataset(x, y), batch_size=self.args.batch_size, shuffle=True)

    def flush(self):
        if self.accumulated == 0:
            return
        # average what was summed up
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.div_(self.accumulated)
        grad_norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=5.0)
        self.optim.step()
        self.model.zero_grad()
        self.global_step += 1
        self.log.append({"step": self.global_step, "grad_norm": grad_norm, "micro": self.accumulated})
        self.accumulated = 0

    def fit(self):
        self.model.train()
        for x, y in self.batches():
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out = self.model(input_ids=x.cuda(), labels=y.cuda())
            out.loss.backward()
            self.accumulated += 1
            if self.accumulated >= self.args.accumulate:
                self.flush()
        self.flush()  # whatever is left over


if __name__ == "__main__":
    learner = Learner(parser.parse_args())
    learner.fit()
    for row in learner.log:
        print(row)
