# SPDX-License-Identifier: Apache-2.0
"""Runs measurements one after the other on a GPU, within a time limit.

    python measure.py --snug ../../snug --out FOLDER --seconds 560 tune:gsa sweep:gsa limit:gsa seeds:gsa finder:accelerate

    tune:EXAMPLE    snug tune under each cap (sweep.py --tune)
    sweep:EXAMPLE   the sweep to compare it with (sweep.py)
    limit:EXAMPLE   the largest batch that snug predicts from the recordings of tune:EXAMPLE, and the next one (cases.py)
    seeds:EXAMPLE   its cases in seeds.jsonl (cases.py)
    finder:NAME     a batch-size finder of another library under 24 GiB (finders.py)

The rows go to FOLDER/rows.jsonl as they come, errors and other output to FOLDER/errors.log. While one job uses the GPU, the next one already
imports its libraries, except before and after snug tune, whose own imports count. Prints what ran, what did not, and a table.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The longest time for a job of each kind, in seconds, and the cap of each example's limit, in GiB.
LONGEST = {"tune": 240, "sweep": 110, "limit": 60, "seeds": 110, "finder": 60}
LIMITS = {"gsa": 44, "hilbert_ssm": 44.37, "naics_embedder": 24, "new_llm": 16, "two_tower": 24}
FEW_WORKERS = {"two_tower": {"--num-workers": 8, "--max-samples": 200000}}  # more than as shipped, for large batches


class Jobs:
    def __init__(self, a):
        self.a, self.folder = a, tempfile.mkdtemp()
        self.turn = os.path.join(self.folder, "turn")
        self.rows, self.errors = os.path.join(a.out, "rows.jsonl"), os.path.join(a.out, "errors.log")
        self.give_turn(-1)

    def give_turn(self, n):
        with open(self.turn + ".new", "w") as f:
            f.write(str(n))
        os.replace(self.turn + ".new", self.turn)

    def store(self, name):
        return os.path.join(self.folder, name, "store.db")

    def words(self, job):
        kind, name = job.split(":")
        tiny = ["--tiny"] if self.a.tiny else []
        return [sys.executable] + {
            "tune": lambda: ["sweep.py", "--tune", os.path.abspath(self.a.snug), name],
            "sweep": lambda: ["sweep.py", name],
            "limit": lambda: ["cases.py", self.limit(name)],
            "seeds": lambda: ["cases.py", "seeds.jsonl", "--only", name],
            "finder": lambda: ["finders.py", name],
        }[kind]() + (["--effective", "4"] if self.a.tiny and kind in ("tune", "sweep") else []) + tiny

    def limit(self, name):
        """Writes the cases at the limit of an example to a file, and returns its path."""
        tuned = os.path.join(os.path.dirname(self.store(name)), "tune")
        profiles = sorted((os.path.join(tuned, p) for p in os.listdir(tuned)), key=os.path.getmtime) if os.path.isdir(tuned) else []
        path = os.path.join(self.folder, name + ".jsonl")
        with open(path, "w") as f:
            if profiles:  # the first one is of the run as shipped
                done = subprocess.run([os.path.abspath(self.a.snug), "max-batch", "--json", "--model", profiles[0], "--limit", "%gGiB" % LIMITS[name]], cwd=self.folder,
                                      capture_output=True, text=True)
                with open(self.rows, "a") as rows:
                    rows.write(json.dumps({"max-batch": name, "limit": LIMITS[name], "said": done.stdout[:4000], "errors": done.stderr[:500]}) + "\n")
                batch = json.loads(done.stdout).get("max_batch") if done.stdout.startswith("{") else None
                for b in [batch, batch + 1] if batch else []:
                    f.write(json.dumps({"name": "limit of %g GiB" % LIMITS[name], "example": name, "batch": b, "cap": LIMITS[name], "steps": 8, "timeout": 40,
                                        "set": FEW_WORKERS.get(name, {})}) + "\n")
        return path

    def start(self, n, job):
        store = self.store(job.split(":")[1])
        os.makedirs(os.path.dirname(store), exist_ok=True)
        env = {**os.environ, "SNUG_STORE": store}
        if not job.startswith("tune:"):
            env["SNUG_TURN"] = "%s=%d" % (self.turn, n)
        with open(self.errors, "a") as err:
            process = subprocess.Popen(self.words(job), cwd=HERE, env=env, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True)
        process.reader = threading.Thread(target=self.read, args=(process.stdout,), daemon=True)
        process.reader.start()
        return process

    def read(self, out):
        """Appends the rows that a job prints to the rows, and what its libraries print to the errors."""
        for line in out:
            with open(self.errors if row(line) is None else self.rows, "a") as f:
                f.write(line)

    def end(self, process):
        for by in signal.SIGTERM, signal.SIGKILL:
            try:
                os.killpg(process.pid, by)
                process.wait(6)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                pass
        process.reader.join(6)  # the last rows

    def run(self):
        began, jobs, next = time.time(), self.a.jobs, None
        for n, job in enumerate(jobs):
            started = time.time()
            left = began + self.a.seconds - started
            if left < 5:
                print("not run:", " ".join(jobs[n:]))
                break
            process, next = next or self.start(n, job), None
            self.give_turn(n)
            if n + 1 < len(jobs) and not job.startswith("tune:") and not jobs[n + 1].startswith(("tune:", "limit:")):
                next = self.start(n + 1, jobs[n + 1])
            try:
                code = process.wait(min(left, LONGEST[job.split(":")[0]]))
            except subprocess.TimeoutExpired:
                code = "stopped"
            self.end(process)
            print("%-22s %6.1f s  %s" % (job, time.time() - started, code), flush=True)
        if next:
            self.end(next)


def row(line):
    """Returns the row on a line, or None if the line is something else, such as a library's message."""
    try:
        x = json.loads(line)
    except ValueError:
        return None
    return x if isinstance(x, dict) else None


def table(path):
    """Prints the rows, and each tune beside the best of the sweep."""
    with open(path) as f:
        rows = [r for r in map(row, f) if r is not None]
    swept = [r for r in rows if "sweep" in r and r["outcome"] == "fits" and not r.get("early")]
    for r in rows:
        if "tune" in r:
            mine = [s for s in swept if s["sweep"] == r["tune"] and s["cap"] == r["cap"]]
            top = max(mine, key=lambda s: s["samples_per_second"], default=None)
            found = r.get("found") or {}
            same = [s for s in mine if s["batch"] == found.get("batch") and s["checkpointing"] in (None, found.get("checkpointing", True))]
            print(r["tune"], "%g GiB:" % r["cap"], found, r.get("samples_per_second"), "/s, trials", r.get("trials"), "+ recordings", r.get("recordings"), r["seconds"], "s;",
                  "best %s %s %s /s" % (top["batch"], top["checkpointing"], top["samples_per_second"]) if top else "no sweep",
                  "of best %.3f" % (same[0]["samples_per_second"] / top["samples_per_second"]) if same else "", r.get("why", "")[-300:])
        elif "finder" in r:
            print(r)
        elif "max-batch" in r:
            print(r["max-batch"], r["said"][:200], r["errors"])
        elif "sweep" not in r:
            print(r["example"], r["name"], r.get("batch"), r["outcome"], "%.2f GiB" % (r.get("reserved", 0) / 2**30), r.get("samples_per_second"), r.get("utilization"), r.get("why", "")[:80])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("jobs", nargs="+")
    p.add_argument("--snug", default=os.path.join(HERE, "..", "..", "snug"))
    p.add_argument("--out", default=".")
    p.add_argument("--seconds", type=float, default=560)
    p.add_argument("--tiny", action="store_true")
    a = p.parse_args()
    jobs = Jobs(a)
    open(jobs.rows, "a").close()
    try:
        jobs.run()
    finally:
        table(jobs.rows)


main()
