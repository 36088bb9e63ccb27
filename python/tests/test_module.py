# SPDX-License-Identifier: Apache-2.0
"""Tests the module with the installed program. Neither PyTorch nor a GPU is needed."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import snug

GiB = 1 << 30


class Answers(unittest.TestCase):
    def test_estimate(self) -> None:
        a = snug.estimate(model="gpt2", batch=8, seq=1024, precision="amp-bf16", gpu="RTX-4090", id="mine")
        self.assertEqual((a.id, a.source, a.fits), ("mine", "simulated", True))
        self.assertEqual(a.device_peak, a.peak_reserved + a.outside)
        self.assertEqual(sum(a.components.values()), a.peak_reserved)
        self.assertLess(a.peak_allocated, a.peak_reserved)
        self.assertTrue(a.step_seconds)
        self.assertEqual(a.params, 124439808)
        self.assertIsNone(snug.estimate(model="gpt2", batch=1, seq=64).fits)

    def test_a_mapping_and_keywords(self) -> None:
        run = {"model": {"name": "gpt2"}, "batch": 8, "seq": 1024}
        self.assertEqual(snug.estimate(run, batch=1), snug.estimate(model="gpt2", batch=1, seq=1024))
        self.assertEqual(run["batch"], 8)

    def test_models(self) -> None:
        config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2}

        class Config:  # like transformers' config classes
            def to_dict(self) -> object:
                return config
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.json")
            with open(path, "w") as f:
                json.dump(config, f)
            want = snug.estimate(model={"config": config}, batch=1, seq=64)
            for model in (path, folder, Config()):
                self.assertEqual(snug.estimate(model=model, batch=1, seq=64), want, model)

    def test_max_batch(self) -> None:
        m = snug.max_batch(model="gpt2", seq=1024, gpu_memory=24)
        self.assertGreaterEqual(m.max_batch, m.sure_batch)
        self.assertGreater(m.sure_batch, 0)
        self.assertLess(m.peak_reserved, 24 * GiB)
        none = snug.max_batch(model="gpt2", seq=1024, limit=GiB)
        self.assertEqual(none.max_batch, 0)

    def test_optimize(self) -> None:
        p = snug.optimize(model="gpt2", batch=64, seq=1024, gpu="RTX-4090", lock=["precision"], target_effective_batch=64)
        assert p.recommended is not None
        self.assertEqual(p.gpu, "RTX-4090")
        s = p.recommended.settings
        self.assertEqual(s["precision"], "fp32")
        self.assertEqual(s["batch"] * s["accumulation"], 64)
        self.assertFalse(p.current.estimate.fits)
        self.assertTrue(p.recommended.estimate.fits)
        self.assertEqual([r.name for r in p.ladder], ["safe", "medium", "aggressive", "maximum"])
        self.assertIsNone(snug.optimize(model="llama-3.1-8b", batch=1, seq=64, gpu_memory=4).recommended)

    def test_errors(self) -> None:
        cases = [
            (dict(model="nope", batch=1, seq=8), 'model.name "nope" is not known'),
            (dict(model="gpt2", batch=1), "seq is missing"),
            (dict(model="gpt2", batch=1, seq=8, gpu="X9"), 'unknown GPU "X9"'),
            (dict(model="gpt2", batch=1, seq=8, sequence=1), 'field "sequence" is not known'),
            (dict(model="gpt2", batch={1}, seq=8), "cannot be written as JSON"),
        ]
        for fields, want in cases:
            with self.assertRaises(snug.Error) as caught:
                snug.estimate(**fields)  # type: ignore[arg-type]
            self.assertIn(want, str(caught.exception))
        with self.assertRaisesRegex(snug.Error, "pass a list"):
            snug.optimize(model="gpt2", batch=1, seq=8, gpu="L4", lock="precision")

    def test_no_program(self) -> None:
        code = "import snug\ntry: snug.binary()\nexcept snug.Error as e: print(e)"
        env = dict(os.environ, SNUG_BINARY="/nowhere/snug")
        said = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, encoding="utf-8").stdout
        self.assertIn("the program snug was not found", said)

    def test_main(self) -> None:
        said = subprocess.run([sys.executable, "-m", "snug", "version"], stdout=subprocess.PIPE, encoding="utf-8")
        self.assertEqual((said.returncode, said.stdout[:5]), (0, "snug "))

    def test_without_torch(self) -> None:
        code = "import sys, snug; snug.estimate(model='gpt2', batch=1, seq=8); print('torch' in sys.modules)"
        said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8").stdout
        self.assertEqual(said.strip(), "False")


if __name__ == "__main__":
    unittest.main()
