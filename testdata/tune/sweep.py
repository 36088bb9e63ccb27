# SPDX-License-Identifier: Apache-2.0
"""Sweeps an example's batch sizes with capped GPU memory, and runs snug tune on the same case.

    python sweep.py --snug ../../snug --cap 24 gsa hilbert_ssm new_llm naics_embedder   # on a GPU
    python sweep.py --snug ../../snug --tiny --no-tune gsa hilbert_ssm new_llm          # on a CPU: the sweep alone

Prints one JSON object for each run of the sweep and one for each tune. Samples per second are the effective batch over the
time of a step as the example measures it. A run counts if it fits the cap, which is enforced in the process.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")

# The config, its keys for batch, accumulation and checkpointing, and the effective batch.
SYSTEMS = {
    "gsa": ("configs/pretrain.yaml", "micro_batch_size", "gradient_accumulation_steps", "gradient_checkpointing", 32),
    "hilbert_ssm": ("configs/gesture.yaml", "DATA.dataloader.batch_size", "OPTIMIZER.gradient_accumulation", "TRAINING.use_checkpoint", 128),
    "naics_embedder": ("conf/config.yaml", "data_loader.batch_size", "training.trainer.accumulate_grad_batches", "model.gradient_checkpointing", 64),
    "new_llm": (None, "--batch-size", "--accumulation-steps", None, 128),
}
TINY = {"gsa": "configs/tiny.yaml", "hilbert_ssm": "configs/tiny.yaml", "naics_embedder": "tiny.yaml"}
CAPPED = """import runpy, sys, torch
if torch.cuda.is_available():
    torch.cuda.set_per_process_memory_fraction(min(1.0, float(sys.argv[1]) * 2**30 / torch.cuda.get_device_properties(0).total_memory))
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")"""


def put(conf, key, value):
    *path, last = key.split(".")
    for name in path:
        conf = conf.setdefault(name, {})
    conf[last] = value


def train(name, batch, effective, saving, a):
    """Runs an example once and returns what it measured."""
    config, batch_key, accumulation_key, saving_key, _ = SYSTEMS[name]
    folder = os.path.join(EXAMPLES, name)
    words = [sys.executable, "-c", CAPPED, str(a.cap), "train.py", "--max-steps", str(a.steps)]
    copy = None
    if config is None:
        words += [batch_key, str(batch), accumulation_key, str(effective // batch)]
        if a.tiny:
            words += ["--max-length", "8", "--context-dim", "16", "--embed-dim", "16", "--vocab-size", "100"]
    else:
        with open(os.path.join(folder, TINY[name] if a.tiny else config)) as f:
            conf = yaml.safe_load(f)
        for key, value in (batch_key, batch), (accumulation_key, effective // batch), (saving_key, saving):
            put(conf, key, value)
        copy = os.path.join(folder, ".sweep-%d.yaml" % os.getpid())
        with open(copy, "w") as f:
            yaml.safe_dump(conf, f)
        words += ["--config", os.path.basename(copy)]
    began = time.time()
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=a.timeout)
    finally:
        if copy:
            os.remove(copy)
    out = dict(system=name, cap=a.cap, batch=batch, accumulation=effective // batch, checkpointing=saving, seconds=round(time.time() - began, 1))
    m = re.search(r"peak_allocated=(\d+) peak_reserved=(\d+) ms_per_step=([0-9.]+)", done.stdout)
    if m:
        out.update(reserved=int(m[2]), samples_per_second=round(effective / (float(m[3]) / 1000), 2))
    elif "out of memory" in done.stderr.lower():
        out["outcome"] = "out-of-memory"
    else:
        sys.exit("%s failed at batch %d:\n%s" % (name, batch, done.stderr[-2000:]))
    return out


def tune(name, effective, a):
    """Runs snug tune on the shipped config."""
    config, batch_key, accumulation_key, _, _ = SYSTEMS[name]
    words = [sys.executable, "train.py"]
    words += ["--config", config] if config else [batch_key, "{batch}", accumulation_key, "{accumulation}"]
    flags = [] if config else ["--batch", "8", "--accumulation", "1"]
    began = time.time()
    done = subprocess.run([a.snug, "tune", "--fresh", "--json", "--limit", "%gGiB" % a.cap, "--target-effective-batch", str(effective)] + flags + ["--"] + words,
                          cwd=os.path.join(EXAMPLES, name), capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit("snug tune failed on %s:\n%s" % (name, done.stderr[-2000:]))
    x = json.loads(done.stdout)
    best = x["best"] or {}
    return dict(system=name, cap=a.cap, tune=best.get("settings"), samples_per_second=best.get("samples_per_second"), trials=len(x["trials"]),
                recordings=x.get("recordings", 0), seconds=round(time.time() - began, 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("systems", nargs="+", choices=sorted(SYSTEMS))
    p.add_argument("--snug", default="snug")
    p.add_argument("--cap", type=float, default=24, help="GiB")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--timeout", type=float, default=900)
    p.add_argument("--tiny", action="store_true", help="settings for a CPU, and an effective batch of 4")
    p.add_argument("--no-tune", action="store_true")
    a = p.parse_args()
    for name in a.systems:
        effective = 4 if a.tiny else SYSTEMS[name][4]
        best = 0.0
        for saving in [False, True] if SYSTEMS[name][3] else [False]:
            for batch in [n for n in range(1, effective + 1) if effective % n == 0]:
                row = train(name, batch, effective, saving, a)
                best = max(best, row.get("samples_per_second", 0))
                print(json.dumps(row), flush=True)
                if row.get("outcome"):
                    break  # a larger batch does not fit either
        if not a.no_tune:
            row = tune(name, effective, a)
            row["of_best"] = round(row["samples_per_second"] / best, 4) if best and row["samples_per_second"] else None
            print(json.dumps(row), flush=True)


main()
