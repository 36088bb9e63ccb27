"""Measures the programs in this folder on a real GPU, several at a time.

usage: measure.py CASES.jsonl OUT.jsonl [--snapshots DIR] [--jobs N] [--python PYTHON]
PYTHON may be the stand-in's (testdata/standin), which needs no GPU.
A case: {"id", "program", "args": [...], "env": {...}, "snapshot": bool}; a row adds "measured"."""
import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def start(case, folder, snapshots, python):
    out = os.path.join(folder, case["id"] + ".json")
    command = [python, os.path.join(HERE, "peak.py"), out]
    if case.get("snapshot") and snapshots:
        command += ["--snapshot", os.path.join(folder, case["id"] + ".pickle")]
    command += [os.path.join(HERE, case["program"])] + [str(a) for a in case["args"]]
    work = os.path.join(folder, case["id"] + ".work")
    os.makedirs(work)
    os.symlink(os.path.join(HERE, "models"), os.path.join(work, "models"))
    log = open(os.path.join(folder, case["id"] + ".log"), "w")
    return subprocess.Popen(command, cwd=work, stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ, **case.get("env", {})))


def finish(case, folder, snapshots):
    try:
        with open(os.path.join(folder, case["id"] + ".json")) as f:
            measured = json.load(f)
    except OSError:
        measured = {"error": open(os.path.join(folder, case["id"] + ".log")).read()[-400:]}
    pickle = os.path.join(folder, case["id"] + ".pickle")
    if snapshots and os.path.exists(pickle):
        with open(pickle, "rb") as f, gzip.open(os.path.join(snapshots, case["id"] + ".pickle.gz"), "wb", 6) as g:
            shutil.copyfileobj(f, g)
        os.remove(pickle)
    shutil.rmtree(os.path.join(folder, case["id"] + ".work"), ignore_errors=True)
    print(case["id"], measured, flush=True)
    return {k: v for k, v in case.items() if k != "snapshot"} | {"measured": measured}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("cases"), p.add_argument("out")
    p.add_argument("--snapshots"), p.add_argument("--jobs", type=int, default=6), p.add_argument("--python", default=sys.executable)
    a = p.parse_args()
    if a.snapshots:
        os.makedirs(a.snapshots, exist_ok=True)
    waiting = [json.loads(line) for line in open(a.cases)]
    running = []
    with tempfile.TemporaryDirectory() as folder, open(a.out, "w") as out:
        while waiting or running:
            while waiting and len(running) < a.jobs:
                case = waiting.pop(0)
                running.append((case, start(case, folder, a.snapshots, a.python)))
            time.sleep(0.1)
            for case, process in [r for r in running if r[1].poll() is not None]:
                running.remove((case, process))
                out.write(json.dumps(finish(case, folder, a.snapshots)) + "\n")
                out.flush()


main()
