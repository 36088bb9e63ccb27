# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6 on one card: Trainer.fit, and what its loops keep alive."""
import contextlib
from functools import partial

import snug
import torch
from lightning.fabric import Fabric, seed_everything
