"""Uses torch and never trains."""
import torch

print(torch.ones(3).sum().item())
