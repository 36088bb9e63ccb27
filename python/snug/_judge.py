# SPDX-License-Identifier: Apache-2.0
"""Predicts how many steps are left until memory runs out."""
import json
import subprocess
import threading
from typing import Any, Dict, List, Optional

from ._ask import Error, binary
from ._meter import Reading


class Judge:
    """Gets forecasts from snug watch, a separate process that reads the recording and answers after each step. It runs
    concurrently with training, so an answer may be a few steps late; the next step is checked here (next_step_fails)."""

    def __init__(self) -> None:
        self.left: Optional[int] = None  # steps left, at the low end of the forecast
        self.why = ""
        self.recent: List[Reading] = []
        self.process: Optional["subprocess.Popen[str]"] = None
        self.failed = ""

    def start(self) -> None:
        try:
            self.process = subprocess.Popen([binary(), "watch", "--replay", "-", "--json", "--every", "1"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        except (Error, OSError) as err:
            self.failed = str(err)
            return
        threading.Thread(target=self.listen, args=(self.process,), name="snug", daemon=True).start()

    def listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                said: Dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            steps = said.get("steps_to_oom")
            self.left, self.why = (int(steps[0]), str(said.get("why", ""))) if steps else (None, "")

    def tell(self, line: str) -> None:
        if self.process is None or self.process.stdin is None:
            return
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except (OSError, ValueError) as err:
            self.failed, self.process = str(err), None

    def next_step_fails(self, now: Reading, limit: Optional[int]) -> bool:
        """Reports whether the next step will not fit if memory grows as in the last three steps. Such a run fails before a
        forecast is certain."""
        self.recent = self.recent[-3:] + [now]
        if len(self.recent) < 4:
            return False
        peaks = [r.peak_allocated for r in self.recent]
        rises = [b - a for a, b in zip(peaks, peaks[1:])]
        room = now.total - (now.used - now.reserved)  # what other processes leave
        if limit is not None:
            room = min(room, limit)
        return min(rises) > 0 and peaks[-1] + 2 * max(rises) > room

    def close(self) -> None:
        process, self.process = self.process, None
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.close()
            process.wait(timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
