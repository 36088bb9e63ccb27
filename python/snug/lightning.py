# SPDX-License-Identifier: Apache-2.0
"""A callback for Lightning.

    from snug.lightning import SnugCallback

    Trainer(callbacks=[SnugCallback(stop=True)]).fit(model, data)
"""
import os
from typing import Any, Optional, Sequence

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:  # the older name of the same library
    from pytorch_lightning.callbacks import Callback  # type: ignore[no-redef,unused-ignore]

from ._memory import Memory, log
from ._meter import Meter

__all__ = ["SnugCallback"]


class SnugCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Records each step's memory for snug watch, and writes a snapshot if memory runs out.

    record is the recording (default snug.jsonl in default_root_dir); snug watch --replay reads it. If stop is
    set, the run is stopped when memory will run out in at most `within` steps. If checkpoint is set, a checkpoint is saved
    first: to `checkpoint` if that is a path, otherwise to snug-stopped.ckpt in default_root_dir. snapshot is the memory
    snapshot to write if memory does run out (default snug-oom.pickle), and history the number of allocator events in it.
    The callback resets torch.cuda's peak statistics at each step.
    """

    def __init__(self, record: Optional[str] = None, stop: bool = False, within: int = 20, checkpoint: Any = True,
                 snapshot: Optional[str] = None, history: int = 100_000, meter: Optional[Meter] = None) -> None:
        self.memory = Memory(record, stop, within, snapshot, history, meter)
        self.checkpoint = checkpoint
        self.last = 0

    @property
    def stopped(self) -> str:
        """Why the run was stopped; empty if it was not."""
        return self.memory.reason

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.last = trainer.global_step
        self.memory.begin(trainer.default_root_dir, trainer.global_rank)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step == self.last:
            return  # gradients are still being accumulated
        self.last = trainer.global_step
        self.memory.step(trainer.global_step, shape=shape_of(batch))
        if not self.memory.stop or trainer.should_stop:
            return
        if trainer.strategy.reduce_boolean_decision(bool(self.memory.reason), all=False):
            self.memory.reason = self.memory.reason or "another rank is running out of memory"
            self.end_run(trainer)

    def end_run(self, trainer: Any) -> None:
        log.warning("snug: stopping after step %d: %s", trainer.global_step, self.stopped)
        trainer.should_stop = True
        if self.checkpoint:
            name = "snug-stopped.ckpt" if self.checkpoint is True else os.fspath(self.checkpoint)
            trainer.save_checkpoint(os.path.join(trainer.default_root_dir, name))

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int,
                                dataloader_idx: int = 0) -> None:
        if not trainer.sanity_checking:
            self.memory.step(trainer.global_step, "eval", shape_of(batch))

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self.memory.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.memory.end()


def shape_of(batch: Any, depth: int = 3) -> Optional[Sequence[int]]:
    """Returns the shape of the first tensor in a batch."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return [int(n) for n in shape] or None
    values = batch.values() if hasattr(batch, "values") else batch if isinstance(batch, (list, tuple)) else ()
    for value in values if depth else ():
        found = shape_of(value, depth - 1)
        if found:
            return found
    return None
