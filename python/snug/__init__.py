# SPDX-License-Identifier: Apache-2.0
"""How much GPU memory a PyTorch training run takes, and the settings that make the best use of the card.

    import snug

    a = snug.estimate(model="gpt2", batch=8, seq=1024, precision="amp-bf16", gpu="RTX-4090")
    print(a.device_peak, a.fits)

The functions call the program snug, which comes with this package, through its JSON interface. They need neither
PyTorch nor a GPU. A run is described by the fields of a setup, as keyword arguments or as a mapping. If there is
no answer, they raise Error. Callbacks for training are in snug.trainer (transformers) and snug.lightning.
"""
from ._ask import Error, binary, estimate, max_batch, optimize
from ._results import Choice, Estimate, FileChange, Lever, MaxBatch, Plan, Rejected, Rung

__all__ = ["Choice", "Error", "Estimate", "FileChange", "Lever", "MaxBatch", "Plan", "Rejected", "Rung",
           "binary", "estimate", "max_batch", "optimize"]
