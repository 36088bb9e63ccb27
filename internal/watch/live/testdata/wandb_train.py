"""Runs train.py with the real Weights & Biases, offline, and logs its loss in every step."""
import runpy
import sys
import time

import torch
import wandb

run = wandb.init(mode="offline", project="snug", dir=sys.argv[1], settings=wandb.Settings(x_disable_stats=True, silent=True))
plain = torch.optim.SGD.zero_grad
step = 0


def zero_grad(self, *args, **kwargs):
    """Logs after each step, as a training loop does. Steps take long enough for the probe to add its numbers to some lines."""
    global step
    step += 1
    wandb.log({"loss": 1 / step})
    time.sleep(0.1)
    return plain(self, *args, **kwargs)


torch.optim.SGD.zero_grad = zero_grad
sys.argv = [sys.argv[2]]
runpy.run_path(sys.argv[0], run_name="__main__")
wandb.finish()
