# SPDX-License-Identifier: Apache-2.0
"""Both callbacks with the real Trainer and Lightning, on the CPU. Memory is simulated by a test meter, so no GPU is needed."""
import json
import logging
import os
import subprocess
import tempfile
import time
import unittest
from typing import Any, Dict, List, Optional

import torch

from snug import binary
from snug._judge import Judge
from snug._meter import Meter, Observer, Reading

MiB = 1 << 20


class Growing(Meter):
    """A 512 MiB card on which each step keeps more memory than the one before."""

    def __init__(self, growth: int = 4 * MiB) -> None:
        self.growth, self.steps = growth, 0
        self.observer: Optional[Observer] = None

    def total(self) -> int:
        return 512 * MiB

    def read(self) -> Optional[Reading]:
        self.steps += 1
        kept = 100 * MiB + self.steps * self.growth
        reserved = kept + 40 * MiB
        return Reading(kept, reserved, kept + 30 * MiB, reserved, 0, reserved + 50 * MiB, self.total())

    def observe(self, observer: Observer) -> None:
        self.observer = observer

    def snapshot(self, path: str) -> bool:
        with open(path, "wb") as f:
            f.write(b"snapshot")
        return True

    def last_step(self) -> int:
        """The first step that does not fit; other processes use 50 MiB."""
        return (512 - 50 - 130) * MiB // self.growth + 1


def lines(path: str) -> List[Dict[str, Any]]:
    with open(path) as f:
        return [json.loads(x) for x in f]


def replayed(path: str) -> str:
    """What snug watch reports about a recording."""
    done = subprocess.run([binary(), "watch", "--replay", path, "--json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise AssertionError(done.stdout)
    return done.stdout


class Samples(torch.utils.data.Dataset):  # type: ignore[misc,type-arg,unused-ignore]
    def __len__(self) -> int:
        return 2000

    def __getitem__(self, i: int) -> Dict[str, torch.Tensor]:
        x = torch.full((4,), float(i % 7))
        return {"x": x, "labels": x.sum()}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: Optional[torch.Tensor] = None) -> Dict[str, torch.Tensor]:
        out = self.layer(x).squeeze(-1)
        assert labels is not None
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.WARNING)
        self.addCleanup(logging.disable, logging.NOTSET)
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name

    def at(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def check_recording(self, path: str, steps: int) -> None:
        events = lines(path)
        self.assertEqual([events[0]["kind"], events[-1]["kind"]], ["start", "end"])
        trained = [e["step"] for e in events if e["kind"] == "step" and e["phase"] == "train"]
        self.assertEqual(trained, list(range(1, steps + 1)))
        self.assertEqual([e["t"] for e in events], sorted(e["t"] for e in events))
        self.assertIn('"step":%d' % steps, replayed(path))


class Trainer(Folder):
    def train(self, callback: Any, steps: int) -> Any:
        import transformers
        args = transformers.TrainingArguments(self.folder, max_steps=steps, per_device_train_batch_size=2, report_to=[], save_strategy="no",
                                              disable_tqdm=True, use_cpu=True, logging_strategy="no")
        trainer = transformers.Trainer(Model(), args, train_dataset=Samples(), callbacks=[callback])
        trainer.train()
        return trainer

    def test_records(self) -> None:
        from snug.trainer import SnugCallback
        callback = SnugCallback()
        self.train(callback, 6)
        self.check_recording(self.at("snug.jsonl"), 6)
        self.assertEqual(callback.stopped, "")
        self.assertNotIn("allocated", lines(self.at("snug.jsonl"))[1])  # there is no card here

    def test_stops_with_a_checkpoint(self) -> None:
        from snug.trainer import SnugCallback
        meter = Growing()
        callback = SnugCallback(stop=True, meter=meter)
        n = self.train(callback, 500).state.global_step
        self.assertTrue(callback.stopped)
        self.assertTrue(4 <= n < meter.last_step(), n)
        self.assertTrue(os.path.exists(self.at("checkpoint-%d" % n, "trainer_state.json")), os.listdir(self.folder))
        self.check_recording(self.at("snug.jsonl"), n)

    def test_goes_on_if_not_asked(self) -> None:
        from snug.trainer import SnugCallback
        meter = Growing()
        steps = meter.last_step() + 5
        self.assertEqual(self.train(SnugCallback(meter=meter), steps).state.global_step, steps)

    def test_stops_without_a_checkpoint(self) -> None:
        from snug.trainer import SnugCallback
        self.train(SnugCallback(stop=True, checkpoint=False, meter=Growing(32 * MiB)), 500)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("checkpoint")], [])

    def test_a_folder_that_cannot_be_written(self) -> None:
        from snug.trainer import SnugCallback
        with open(self.at("file"), "w"):
            pass
        self.assertEqual(self.train(SnugCallback(record=self.at("file", "x.jsonl")), 3).state.global_step, 3)


class Lightning(Folder):
    def fit(self, callback: Any, steps: int, accumulate: int = 1) -> Any:
        import lightning.pytorch as pl

        class Module(pl.LightningModule):  # type: ignore[misc,unused-ignore]
            def __init__(self) -> None:
                super().__init__()
                self.inner = Model()

            def training_step(self, batch: Any, index: int) -> Any:
                return self.inner(**batch)["loss"]

            def validation_step(self, batch: Any, index: int) -> None:
                self.inner(**batch)

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), lr=1e-3)
        data = torch.utils.data.DataLoader(Samples(), batch_size=2)
        trainer = pl.Trainer(default_root_dir=self.folder, max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                             enable_progress_bar=False, enable_model_summary=False, callbacks=[callback], accumulate_grad_batches=accumulate,
                             limit_val_batches=2)
        trainer.fit(Module(), data, data)
        return trainer

    def test_records(self) -> None:
        from snug.lightning import SnugCallback
        callback = SnugCallback(record="run.jsonl")
        self.fit(callback, 5, accumulate=3)
        self.check_recording(self.at("run.jsonl"), 5)
        self.assertEqual([e["shape"] for e in lines(self.at("run.jsonl")) if e["kind"] == "step"][0], [2, 4])

    def test_stops_with_a_checkpoint(self) -> None:
        from snug.lightning import SnugCallback
        meter = Growing()
        callback = SnugCallback(stop=True, meter=meter)
        trainer = self.fit(callback, 500)
        self.assertTrue(callback.stopped)
        self.assertTrue(4 <= trainer.global_step < meter.last_step(), trainer.global_step)
        saved = torch.load(self.at("snug-stopped.ckpt"), weights_only=False)
        self.assertEqual(saved["global_step"], trainer.global_step)

    def test_an_oom_leaves_a_snapshot(self) -> None:
        from snug.lightning import SnugCallback
        meter = Growing()

        class Fails(SnugCallback):
            def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
                if batch_idx == 3:
                    assert meter.observer is not None
                    meter.observer(2 * MiB, 512 * MiB, MiB)  # as PyTorch does before it raises
                    raise torch.OutOfMemoryError("CUDA out of memory")
        with self.assertRaises(torch.OutOfMemoryError):
            self.fit(Fails(meter=meter), 10)
        self.assertTrue(os.path.exists(self.at("snug-oom.pickle")))
        self.assertEqual([e["kind"] for e in lines(self.at("snug.jsonl"))][-2:], ["oom", "end"])
        self.assertIn('"state":"out-of-memory"', replayed(self.at("snug.jsonl")))


class Forecast(unittest.TestCase):
    def test_the_program_counts_steps(self) -> None:
        """Memory that grows by 4 MiB per step on a 512 MiB card runs out when snug watch predicts."""
        judge, meter = Judge(), Growing()
        judge.start()
        self.addCleanup(judge.close)
        judge.tell(json.dumps({"t": 0, "kind": "start", "pid": 1, "total": meter.total()}) + "\n")
        for n in range(1, 61):
            r = meter.read()
            assert r is not None
            judge.tell(json.dumps({"t": n, "kind": "step", "pid": 1, "step": n, "phase": "train", "allocated": r.allocated, "reserved": r.reserved,
                                   "peak_allocated": r.peak_allocated, "peak_reserved": r.peak_reserved, "retries": 0}) + "\n")
        deadline = time.monotonic() + 60
        while judge.left is None and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertIsNotNone(judge.left)
        self.assertIn("4.0 MiB per step", judge.why)

    def test_next_step(self) -> None:
        for growth, fails in ((4 * MiB, False), (90 * MiB, True), (0, False)):
            judge, meter = Judge(), Growing(growth)
            said = [judge.next_step_fails(r, None) for r in (meter.read() for _ in range(4)) if r is not None]
            self.assertEqual(said, [False, False, False, fails], growth)
        judge, meter = Judge(), Growing(4 * MiB)
        said = [judge.next_step_fails(r, 150 * MiB) for r in (meter.read() for _ in range(4)) if r is not None]
        self.assertTrue(said[-1], "a cap counts")


if __name__ == "__main__":
    unittest.main()
