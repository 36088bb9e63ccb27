# SPDX-License-Identifier: Apache-2.0
"""Sweeps an example's batch sizes with capped GPU memory, or runs snug tune on the same case.

    python sweep.py gsa hilbert_ssm new_llm               # the sweep, in one process
    python sweep.py --tune ../../snug gsa                 # snug tune
    python sweep.py --tiny --effective 4 gsa              # on a CPU

The sweep tries the batches that divide the effective batch, the largest first, with and without checkpointing, under each cap, and
prints one JSON object for each run. It skips runs whose result is certain: a run that stayed below a lower cap, and did not empty
its cache, is the same under that cap ("as"); one that had more allocated than a lower cap does not fit there. It stops at a
batch that fits every cap if the speed is below 0.8 of the best that fits the lowest: smaller batches are slower still. A run that
is slower than half of that best ends at once ("early").
"""
import argparse
import json
import os
import subprocess
import sys
import time

import cases

# The effective batch: a different batch is the largest under each of the three caps.
EFFECTIVE = {"gsa": 96, "hilbert_ssm": 384, "naics_embedder": 192, "new_llm": 192, "two_tower": 12000}
# Flags of both the sweep and snug tune. By default, two_tower has too few samples and workers for such batches.
FLAGS = {"two_tower": {"--num-workers": 8, "--max-samples": 600000}}


def sweep(name, a, runner):
    effective = a.effective or EFFECTIVE[name]
    best = {}  # samples per second by cap
    for saving in [False, True] if cases.SYSTEMS[name][3] else [None]:
        for batch in [n for n in range(effective, 0, -1) if effective % n == 0]:
            rows = {}
            for cap in sorted(a.caps, reverse=True):
                row = certain(rows, cap)
                if row is None:
                    row = runner.run({"example": name, "batch": batch, "accumulation": effective // batch, "checkpointing": saving, "cap": cap, "steps": 40,
                                      "beat": best.get(min(a.caps), 0), "timeout": 90, "set": {} if a.tiny else FLAGS.get(name, {})})
                rows[cap] = row
                print(json.dumps({"sweep": name, **row, "cap": cap}), flush=True)
                if row["outcome"] == "fits" and not row.get("early"):
                    best[cap] = max(best.get(cap, 0), row.get("samples_per_second", 0))
            lowest = rows[min(a.caps)]
            if lowest["outcome"] == "fits" and lowest.get("samples_per_second", 0) < 0.8 * best[min(a.caps)]:
                break


def certain(rows, cap):
    """Returns the row under a cap if those under higher caps decide it."""
    for above, row in rows.items():
        if row["outcome"] == "fits" and row.get("retries", 0) == 0 and row.get("reserved", 0) <= cap * 2**30:
            return {**row, "as": above}
        if row["outcome"] == "fits" and row.get("retries", 0) == 0 and row.get("allocated", 0) > cap * 2**30:
            return {**{k: row[k] for k in ("example", "batch", "accumulation", "checkpointing")}, "outcome": "out-of-memory", "as": above}
        if row["outcome"] == "out-of-memory":
            return {**row, "as": above}
    return None


def tune(name, a):
    """Runs snug tune from the shipped config, under each cap. Recordings are shared between the caps."""
    effective = a.effective or EFFECTIVE[name]
    config, batch_key, accumulation_key, _ = cases.SYSTEMS[name]
    words = [sys.executable, "main.py" if name == "two_tower" else "train.py"]
    flags = []
    if config:
        words += ["--config", cases.TINY[name] if a.tiny else config]
    else:
        for k, v in {**(cases.TINY_FLAGS[name] if a.tiny else {}), **({} if a.tiny else FLAGS.get(name, {}))}.items():
            words += [k, str(v)]
        words += [batch_key, "{batch}", accumulation_key, "{accumulation}"]
        flags = ["--batch", "2" if a.tiny else str(cases.SHIPPED[name]), "--accumulation", "1"]
    for cap in a.caps:
        began = time.time()
        done = subprocess.run([a.tune, "tune", "--json", "--limit", "%gGiB" % cap, "--target-effective-batch", str(effective)] + flags + ["--"] + words,
                              cwd=os.path.join(cases.EXAMPLES, name), capture_output=True, text=True)
        row = {"tune": name, "cap": cap, "effective": effective, "seconds": round(time.time() - began, 1)}
        x = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        if "trials" in x:
            best = x["best"] or {}
            row.update(found=best.get("settings"), samples_per_second=best.get("samples_per_second"), reserved=best.get("reserved"), trials=len(x["trials"]),
                       recordings=x.get("recordings", 0), report=x)
        else:
            row["why"] = x.get("error") or done.stderr[-1500:]
        print(json.dumps(row), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("systems", nargs="+", choices=sorted(EFFECTIVE))
    p.add_argument("--tune", metavar="SNUG", help="the program snug: runs snug tune instead of the sweep")
    p.add_argument("--caps", type=lambda text: [float(x) for x in text.split(",")], default=[24, 16, 40], help="GiB")
    p.add_argument("--effective", type=int)
    p.add_argument("--tiny", action="store_true", help="settings for a CPU")
    a = p.parse_args()
    if a.tune:
        a.tune = os.path.abspath(a.tune)
        for name in a.systems:
            tune(name, a)
        return
    runner = cases.Runner(a.tiny)
    for name in a.systems:
        sweep(name, a, runner)
    runner.close()


main()
