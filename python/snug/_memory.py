# SPDX-License-Identifier: Apache-2.0
"""The common part of both callbacks: record steps for snug watch, stop in time, write a snapshot."""
import json
import logging
import os
import time
from typing import IO, Any, Dict, Optional, Sequence

from ._judge import Judge
from ._meter import Meter, Reading, meter_of_this_process

log = logging.getLogger("snug")


class Memory:
    """Watches the memory of one training run.

    Its own failures are logged and never end the training.
    """

    def __init__(self, record: Optional[str] = None, stop: bool = False, within: int = 20, snapshot: Optional[str] = None,
                 history: int = 100_000, meter: Optional[Meter] = None) -> None:
        if within < 1:
            raise ValueError("within is %d; it must be at least 1 step" % within)
        if history < 1:
            raise ValueError("history is %d; it must be at least 1 event" % history)
        self.record, self.stop, self.within, self.snapshot, self.history = record, stop, within, snapshot, history
        self.given = meter
        self.meter: Meter = Meter()
        self.judge: Optional[Judge] = None
        self.file: Optional[IO[str]] = None
        self.began = 0.0
        self.started = self.over = False
        self.sampled = -1.0
        self.limit: Optional[int] = None
        self.reason = ""  # why the run should stop
        self.observed = False
        self.snapshot_path = ""

    # -- the run

    def begin(self, folder: str, rank: int = 0) -> None:
        """Starts recording a training run. Files are written to folder unless their paths are absolute; each rank has its own."""
        if self.file is not None:
            self.end()  # the previous run ended with an error
        self.began, self.started, self.over, self.sampled, self.reason = time.monotonic(), False, False, -1.0, ""
        try:
            self.meter = self.given if self.given is not None else meter_of_this_process()
            path = self.path(self.record or "snug.jsonl", folder, rank)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.file = open(path, "w", encoding="utf-8")
            self.snapshot_path = self.path(self.snapshot or "snug-oom.pickle", folder, rank)
            if not self.observed:
                self.observed = True
                self.meter.observe(self.out_of_memory)
            self.meter.record(self.history)
            if self.stop:
                self.judge = Judge()
                self.judge.start()
                if self.judge.failed:
                    log.warning("snug: snug watch gives no forecast, so only the next step is checked: %s", self.judge.failed)
        except Exception as err:
            log.warning("snug: cannot record the run: %s", err)

    @staticmethod
    def path(name: str, folder: str, rank: int) -> str:
        if rank:
            stem, ending = os.path.splitext(name)
            name = "%s.rank%d%s" % (stem, rank, ending)
        return os.path.abspath(os.path.join(folder, name))

    def step(self, n: int, phase: str = "train", shape: Optional[Sequence[int]] = None) -> None:
        """Handles the end of an optimizer step, or of an evaluation batch."""
        try:
            self.tell_step(n, phase, shape)
        except Exception as err:
            log.warning("snug: cannot record step %d: %s", n, err)

    def tell_step(self, n: int, phase: str, shape: Optional[Sequence[int]]) -> None:
        now = self.meter.read()
        if not self.started:
            self.tell_start()
        fields: Dict[str, Any] = {} if now is None else dict(allocated=now.allocated, reserved=now.reserved, peak_allocated=now.peak_allocated,
                                             peak_reserved=now.peak_reserved, retries=now.retries)
        if shape:
            fields["shape"] = list(shape)
        if now is not None:
            self.sample(now)
        self.write("step", step=n, phase=phase, **fields)
        if self.judge is not None and now is not None and phase == "train":
            self.decide(now)

    def tell_start(self) -> None:
        self.started = True
        total, self.limit = self.meter.total(), self.meter.limit()
        self.write("start", **({"total": total} if total else {}))
        if self.limit is not None:
            self.write("limit", limit=self.limit)

    def sample(self, now: Reading) -> None:
        """Records the card as the driver sees it, once a second."""
        t = time.monotonic()
        if self.sampled < 0 or t - self.sampled >= 1:
            self.sampled = t
            self.write("gpu", used=now.used, total=now.total, **self.meter.card())

    def decide(self, now: Reading) -> None:
        assert self.judge is not None
        left, why = self.judge.left, self.judge.why
        if left is not None and left <= self.within:
            self.reason = "memory will run out in %d steps: %s" % (left, why)
        elif self.judge.next_step_fails(now, self.limit):
            self.reason = "the next step would run out of memory: each of the last three used more than the step before it"

    def out_of_memory(self, asked: int, total: int, free: int) -> None:
        """Handles a failed allocation. PyTorch raises its error afterwards."""
        try:
            if not self.started:
                self.tell_start()
            self.write("oom", message="CUDA out of memory: tried to allocate %d bytes; PyTorch may reserve %d, and %d are free on the card" % (asked, total, free))
            if self.meter.snapshot(self.snapshot_path):
                log.warning("snug: out of memory; run snug diagnose %s to see why", self.snapshot_path)
        except Exception as err:
            log.warning("snug: no snapshot was written: %s", err)

    def end(self) -> None:
        """Stops recording when the run ends; a second call does nothing."""
        if self.over:
            return
        self.over = True
        try:
            self.write("end")
            if self.file is not None:
                self.file.close()
            if self.judge is not None:
                self.judge.close()
        except Exception as err:
            log.warning("snug: the recording was not closed: %s", err)
        self.file = self.judge = None

    def write(self, kind: str, **fields: Any) -> None:
        line = json.dumps(dict(t=round(time.monotonic() - self.began, 6), kind=kind, pid=os.getpid(), **fields)) + "\n"
        if self.file is not None:
            self.file.write(line)
            self.file.flush()
        if self.judge is not None:
            self.judge.tell(line)
