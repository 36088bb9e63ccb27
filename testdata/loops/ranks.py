"""Runs a program as torchrun would with one process, so that its trainer wraps the model in DDP: ranks.py PROGRAM ARGS...

DDP's buckets do not depend on the number of processes. Gloo needs no GPU of its own, as the stand-in has none."""
import os
import runpy
import sys

import accelerate
import torch.distributed

accelerate.Accelerator.multi_device = True  # accelerate wraps no model for a single process
os.environ.update(WORLD_SIZE="1", RANK="0", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
program = os.path.join(os.path.dirname(os.path.abspath(__file__)), sys.argv[1])
sys.argv = [program] + sys.argv[2:]
sys.path.insert(0, os.path.dirname(program))
runpy.run_path(program, run_name="__main__")
