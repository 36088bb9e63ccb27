"""Pretends to be built for CUDA, and trains on the CPU."""
import runpy

import torch

torch.version.cuda = "12.8"
runpy.run_path("plain.py")
