"""Uses torch but never trains."""
import torch

print(torch.ones(3).sum().item())
