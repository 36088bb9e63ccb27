"""train.py under a real Weights & Biases: the program logs its loss in every step. Nothing is sent."""
import runpy
import sys
import time

import torch
import wandb

run = wandb.init(mode="offline", project="snug", dir=sys.argv[1], settings=wandb.Settings(x_disable_stats=True, silent=True))
plain = torch.optim.SGD.zero_grad
step = 0


def zero_grad(self, *args, **kwargs):
    """Logs after each step, as a training loop does. A step is long enough for the probe to add to some of them."""
    global step
    step += 1
    wandb.log({"loss": 1 / step})
    time.sleep(0.1)
    return plain(self, *args, **kwargs)


torch.optim.SGD.zero_grad = zero_grad
sys.argv = [sys.argv[2]]
runpy.run_path(sys.argv[0], run_name="__main__")
wandb.finish()
