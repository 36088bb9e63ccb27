# SPDX-License-Identifier: Apache-2.0
"""A callback for transformers' Trainer.

    from snug.trainer import SnugCallback

    Trainer(model, args, train_dataset=data, callbacks=[SnugCallback(stop=True)]).train()
"""
from typing import Any, Optional

from transformers import TrainerCallback

from ._memory import Memory, log
from ._meter import Meter

__all__ = ["SnugCallback"]


class SnugCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Records each step's memory for snug watch, and writes a snapshot if memory runs out.

    record is the recording (default snug.jsonl in output_dir); snug watch --replay reads it. If stop is set, the run is
    stopped when memory will run out in at most `within` steps. If checkpoint is set, the Trainer saves its own
    checkpoint first. snapshot is the memory snapshot to write if memory does run out (default snug-oom.pickle), and history
    the number of allocator events in it. The callback resets torch.cuda's peak statistics at each step.
    """

    def __init__(self, record: Optional[str] = None, stop: bool = False, within: int = 20, checkpoint: bool = True,
                 snapshot: Optional[str] = None, history: int = 100_000, meter: Optional[Meter] = None) -> None:
        self.memory = Memory(record, stop, within, snapshot, history, meter)
        self.checkpoint = checkpoint

    @property
    def stopped(self) -> str:
        """Why the run was stopped; empty if it was not."""
        return self.memory.reason

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.memory.begin(args.output_dir, args.process_index)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        self.memory.step(state.global_step)
        if self.memory.stop and self.agreed(args):
            log.warning("snug: stopping after step %d: %s", state.global_step, self.stopped)
            control.should_training_stop = True
            control.should_save = control.should_save or self.checkpoint
        return control

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.memory.step(state.global_step, "eval")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.memory.end()

    def agreed(self, args: Any) -> bool:
        """Reports whether any rank wants to stop: a rank that stopped alone would leave the others waiting."""
        if args.world_size < 2:
            return bool(self.memory.reason)
        import torch
        flag = torch.tensor(float(bool(self.memory.reason)), device=args.device)
        torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
        if flag.item() and not self.memory.reason:
            self.memory.reason = "another rank is running out of memory"
        return bool(flag.item())
