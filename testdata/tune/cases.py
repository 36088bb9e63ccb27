# SPDX-License-Identifier: Apache-2.0
"""Runs the examples with many settings, one after the other, in one process, so that Python and CUDA start only once.

    python cases.py CASES.jsonl [--only NAME]     # prints one JSON object for each case

A case is one line: {"example": "gsa", "batch": 2, "accumulation": 1, "checkpointing": true, "cap": 24, "steps": 12, "set": {...}}.
"set" has further values: keys of the example's config, or its flags. "alloc" is a string for PyTorch's allocator, "autocast" a
type for autocast around the whole program, "name" a label. Only "example" is required; the rest is as shipped. A case ends
after "steps", or earlier: after four steps and "least" seconds of measuring, or when it is slower than half of "beat", in
samples per second.

Each case runs the example's own script. Before it, PyTorch's cache and cuBLAS's workspaces are emptied and the peaks are reset;
"left" are the bytes that were still allocated. Samples per second come from the times of the steps after the third, as in snug
tune. "device" is the memory in use on the whole GPU at the end of the case, "smi" the most that nvidia-smi showed during the case,
"before" what was in use before this process used the GPU, "utilization" nvidia-smi's mean over the same steps as the speed.
"""
import argparse
import contextlib
import gc
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
WARM_UP = 3

# The config, and the keys or flags for batch, accumulation and checkpointing.
SYSTEMS = {
    "gsa": ("configs/pretrain.yaml", "micro_batch_size", "gradient_accumulation_steps", "gradient_checkpointing"),
    "hilbert_ssm": ("configs/gesture.yaml", "DATA.dataloader.batch_size", "OPTIMIZER.gradient_accumulation", "TRAINING.use_checkpoint"),
    "naics_embedder": ("conf/config.yaml", "data_loader.batch_size", "training.trainer.accumulate_grad_batches", "model.gradient_checkpointing"),
    "new_llm": (None, "--batch-size", "--accumulation-steps", None),
    "two_tower": (None, "--batch-size", "--accumulation-steps", None),
}
SHIPPED = {"gsa": 2, "hilbert_ssm": 2, "naics_embedder": 4, "new_llm": 8, "two_tower": 256}
TINY = {"gsa": "configs/tiny.yaml", "hilbert_ssm": "configs/tiny.yaml", "naics_embedder": "tiny.yaml"}
TINY_FLAGS = {
    "new_llm": {"--max-length": 8, "--context-dim": 16, "--embed-dim": 16, "--vocab-size": 100},
    "two_tower": {"--vocab": 100, "--emb": 16, "--hidden": 16, "--doc-len": 8, "--max-samples": 64, "--num-workers": 0},
}


class Enough(Exception):
    """The case has been measured."""


class Steps:
    """Standard output of an example: the time of each line about a step. It ends the example when that is enough."""

    def __init__(self, case):
        self.ends, self.samples = [], case.get("batch", SHIPPED[case["example"]]) * case.get("accumulation", 1)
        self.least, self.beat, self.early = case.get("least", 1.5), case.get("beat", 0), False

    def write(self, text):
        if not text.startswith("step "):
            return
        self.ends.append(time.time())
        times = self.times()
        if len(times) >= 4 and sum(times) >= self.least:
            raise Enough
        if len(self.ends) > 1 and 2 * self.samples < self.beat * (self.ends[-1] - self.ends[-2]):
            self.early = True
            raise Enough

    def flush(self):
        pass

    def times(self):
        """The times of the steps after the warm-up; of fewer steps, the last one."""
        all = [b - a for a, b in zip(self.ends, self.ends[1:])]
        return all[WARM_UP - 1:] or all[-1:]


class Smi:
    """Reads nvidia-smi every tenth of a second."""

    def __init__(self):
        self.seen, self.process = [], None
        try:
            self.process = subprocess.Popen(["nvidia-smi", "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", "-lms", "100"],
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            m = re.match(r"(\d+), (\d+)", line)
            if m:
                self.seen.append((time.time(), int(m[1]), int(m[2]) << 20))

    def between(self, start, end):
        seen = [s for s in self.seen if start <= s[0] <= end]
        return (round(sum(s[1] for s in seen) / len(seen), 1), max(s[2] for s in seen)) if seen else (None, None)

    def close(self):
        if self.process:
            self.process.kill()


def wait_for_gpu():
    """Waits for this process's turn, if measure.py gives turns; the imports are done by then."""
    if "SNUG_TURN" in os.environ:
        path, ticket = os.environ["SNUG_TURN"].split("=")
        while open(path).read() != ticket:
            time.sleep(0.02)


def put(conf, key, value):
    *path, last = key.split(".")
    for name in path:
        conf = conf.setdefault(name, {})
    conf[last] = value


def command(case, tiny):
    """Returns the words of the example's command, without Python, and a config file to remove."""
    import yaml
    example = case["example"]
    config, *keys = SYSTEMS[example]
    values = {k: case[name] for k, name in zip(keys, ("batch", "accumulation", "checkpointing")) if k and case.get(name) is not None}
    words = ["main.py" if example == "two_tower" else "train.py", "--max-steps", str(case.get("steps", 12))]
    if config is None:
        for k, v in {**(TINY_FLAGS[example] if tiny else {}), **values, **case.get("set", {})}.items():
            words += [k] if v is True else [k, str(v)]
        return words, None
    with open(os.path.join(EXAMPLES, example, TINY[example] if tiny else config)) as f:
        conf = yaml.safe_load(f)
    for k, v in {**values, **case.get("set", {})}.items():
        put(conf, k, v)
    f = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
    with f:
        yaml.safe_dump(conf, f)
    return words + ["--config", f.name], f.name


def expire(*_):
    raise TimeoutError


class Runner:
    def __init__(self, tiny=False):
        import torch
        self.torch, self.tiny, self.gpu = torch, tiny, torch.cuda.is_available()
        wait_for_gpu()
        self.smi = Smi()
        if self.gpu:
            time.sleep(0.3)  # until nvidia-smi has seen the GPU without this process
            self.before = self.smi.between(0, time.time())[1]
            self.total = torch.cuda.get_device_properties(0).total_memory

    def empty(self):
        gc.collect()
        if self.gpu:
            self.torch._C._cuda_clearCublasWorkspaces()
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()

    def run(self, case):
        """Runs one case and returns its row."""
        torch, row, out = self.torch, dict(case), Steps(case)
        words, config = command(case, self.tiny)
        self.empty()
        if self.gpu:
            torch.cuda.set_per_process_memory_fraction(min(1.0, case["cap"] * 2**30 / self.total) if case.get("cap") else 1.0)
            torch._C._accelerator_setAllocatorSettings(case.get("alloc", "expandable_segments:False"))
            row["left"], retries = torch.cuda.memory_allocated(), torch.cuda.memory_stats().get("num_alloc_retries", 0)
        folder, argv, began = os.getcwd(), sys.argv, time.time()
        signal.signal(signal.SIGALRM, expire)
        signal.alarm(int(case.get("timeout", 60)))
        try:
            os.chdir(os.path.join(EXAMPLES, case["example"]))
            sys.argv = words
            around = torch.autocast("cuda" if self.gpu else "cpu", dtype=getattr(torch, case["autocast"])) if "autocast" in case else contextlib.nullcontext()
            with contextlib.redirect_stdout(out), around:
                runpy.run_path(words[0], run_name="__main__")
            row["outcome"] = "fits"
        except Enough:
            row["outcome"] = "fits"
        except torch.OutOfMemoryError as err:
            row["outcome"], row["why"] = "out-of-memory", str(err)[:200]
        except TimeoutError:
            row["outcome"] = "timed out"
        except Exception as err:
            row["outcome"], row["why"] = "failed", "%s: %s" % (type(err).__name__, str(err)[:300])
        finally:
            signal.alarm(0)
            sys.argv = argv
            os.chdir(folder)
            if config:
                os.remove(config)
        row["seconds"] = round(time.time() - began, 2)
        self.measure(row, out, began)
        if self.gpu:
            row["retries"] = torch.cuda.memory_stats()["num_alloc_retries"] - retries
        self.empty()
        return row

    def measure(self, row, out, began):
        times = out.times()
        row["steps"] = len(out.ends)
        if out.early:
            row["early"] = True
        if times:
            row["samples_per_second"] = round(out.samples * len(times) / sum(times), 2)
            row["by_median"] = round(out.samples / sorted(times)[len(times) // 2], 2)
            row["step_ms"] = [round(1e3 * t, 2) for t in times]
        if not self.gpu:
            return
        free, total = self.torch.cuda.mem_get_info()
        row.update(reserved=self.torch.cuda.max_memory_reserved(), allocated=self.torch.cuda.max_memory_allocated(), device=total - free, before=self.before)
        row["smi"] = self.smi.between(began, time.time())[1]
        if times:
            row["utilization"] = self.smi.between(out.ends[-1] - sum(times), out.ends[-1])[0]

    def close(self):
        self.smi.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("cases")
    p.add_argument("--only", help="name of an example")
    p.add_argument("--tiny", action="store_true", help="settings for a CPU")
    a = p.parse_args()
    runner = Runner(a.tiny)
    with open(a.cases) as f:
        cases = [json.loads(line) for line in f if line.strip() and not line.startswith("#")]
    for case in cases:
        if a.only in (None, case["example"]):
            print(json.dumps(runner.run(case)), flush=True)
    runner.close()


if __name__ == "__main__":
    main()
