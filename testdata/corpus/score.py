# SPDX-License-Identifier: Apache-2.0
"""Runs snug on every run in a corpus and stores the answers.

    score.py SNUG CORPUS [RUNS] > answers.jsonl

snug is called as a user would: in the project's folder, `snug estimate --config-path FILE`. No flag supplies
anything that the file should contain. Writes one line per run: its outcome, the setup as snug read it, all notes,
the error and the CPU time in seconds. A run over 3 s is repeated before it counts as slow.
"""
import concurrent.futures
import fcntl
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios

LIMIT, SLOW = 10, 3  # seconds of CPU time
UNKNOWN = re.compile(
    r"contains no setting that snug knows|not a kind of file|no config that snug knows|belongs to no system|is no config|"
    r"none of the files|no training config|not recognized|not recognized|no file (here )?is a config|no files? that snug")


def ask(snug, root, path):
    """Returns the exit code (None if it took too long), output, errors and CPU time in seconds of one call."""
    screen, out = os.openpty()
    fcntl.ioctl(out, termios.TIOCSWINSZ, struct.pack("HHHH", 2000, 1000, 0, 0))  # a wide screen, so that the report is not truncated
    with tempfile.TemporaryFile() as err:
        p = subprocess.Popen([snug, "estimate", "--config-path", path], cwd=root, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                             env=dict(os.environ, NO_COLOR="1"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)))
        os.close(out)
        text = drain(screen)
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = code = os.waitstatus_to_exitcode(status)
        err.seek(0)
        late = code in (-signal.SIGXCPU, -signal.SIGKILL)
        return None if late else code, text, err.read(1 << 20).decode(errors="replace"), used.ru_utime + used.ru_stime


def drain(screen):
    """Returns everything written to a screen until it is closed."""
    got = b""
    while True:
        try:
            more = os.read(screen, 1 << 16)
        except OSError:
            more = b""
        if not more:
            os.close(screen)
            return got.decode(errors="replace").replace("\r\n", "\n")
        got += more


def answer(snug, corpus, run):
    root = os.path.join(corpus, run["project"].replace("/", "+", 1))
    code, out, err, seconds = ask(snug, root, run["path"])
    got = dict(run, seconds=round(seconds, 2), code=code)
    notes = [x[12:] for x in err.splitlines() if x.startswith("snug: note: ")]
    if code is None:
        return dict(got, outcome="timeout")
    if code not in (0, 1, 2) or "panic:" in err or "goroutine " in err:
        return dict(got, outcome="crash", error=err[-2000:])
    if code == 2:
        text = reason(err)
        return dict(got, outcome="not recognized" if UNKNOWN.search(text) else "refused", error=text, notes=notes)
    return dict(got, outcome="answered", notes=notes, shown=shown(out), setup=setup(shown(out)))


def reason(err):
    lines = [x.removeprefix("snug: ") for x in err.splitlines() if not x.startswith("snug: note: ")]
    return " ".join(x.strip() for x in lines if x.strip())[:3000]


def shown(report):
    """Returns the lines above an estimate that describe the run, with a loop written as "loop of trainer"."""
    lines = report.splitlines()
    kept = []
    for line in lines:
        if line.startswith("  reserved"):
            break
        kept.append(line)
    return re.sub(r"(?<=,[ \n])([^,\n]+) loop(?=[,\n])", r"loop of \1", "\n".join(kept))


SHARDINGS = r"(ddp|fsdp1|fsdp2(?:-noreshard)?|zero1(?:-deepspeed)?|zero2|zero3)"


def setup(text):
    """Returns the setup described in a report, as fields."""
    words = " ".join(text.split())
    settings, _, files = words.partition("settings of ")
    settings = re.sub(r"loop of \S+\.py\b.*?,", "loop of a program,", settings)
    find = lambda p: (m.group(1) if (m := re.search(p, settings)) else None)
    number = lambda p: int(x.replace(",", "")) if (x := find(p)) else None
    system = re.search(r" \((.*)\)$", files) or re.search(r" \(([^)]*…)$", files)
    return {
        "model": text.split(" takes ")[0].splitlines()[-1] if " takes " in text else "",
        "batch": number(r"\bbatch ([\d,]*\d)"),
        "seq": number(r"\bbatch [\d,]*\d of ([\d,]*\d)(?: and [\d,]+)? tokens"),
        "accumulation": number(r"\baccumulation ([\d,]*\d)") or 1,
        "precision": find(r"(?:^|, | )(amp-bf16|amp-fp16|bf16|fp16|fp32)(?:,| as saved,| \()"),
        "weights": find(r"weights in (\w+)"),
        "checkpointing": bool(re.search(r", (?:(?:non-)?reentrant )?checkpointing(,|$| )", settings)),
        "loop": find(r"loop of (.*?)(?:,|$)"),
        "optimizer": find(r", ((?:adam|sgd|lion|adafactor|adagrad|rmsprop|muon|lamb|galore|apollo|ademamix|nadam|radam)[\w-]*)"),
        "attention": find(r"(\w+) attention"),
        "rank": number(r"(?:LoRA|DoRA) rank ([\d,]*\d)"),
        "targets": find(r"(?:LoRA|DoRA) rank \d+ on ([^,]+)"),
        "bits": "4" if re.search(r"\b(nf4|fp4)\b|4-bit", settings) else "8" if "8-bit weights" in settings else None,
        "head": find(r"([a-z-]+) head"),
        "pixels": int(m.group(1)) * int(m.group(2)) if (m := re.search(r"images? of (\d+)x(\d+)", settings)) else None,
        "dist": find(r"\b" + SHARDINGS),
        "gpus": number(r"([\d,]*\d) GPUs"),
        "files": files,
        "system": system.group(1) if system else None,
    }


def main():
    snug, corpus = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    listed = sys.argv[3] if len(sys.argv) > 3 else os.path.join(corpus, "runs.jsonl")
    with open(listed, encoding="utf-8") as f:
        runs = [json.loads(line) for line in f]
    got = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 2))) as pool:
        for g in pool.map(lambda r: answer(snug, corpus, r), runs):
            if g["seconds"] > SLOW:
                g = answer(snug, corpus, g)
            g["slow"] = g["seconds"] > SLOW
            got.append(g)
            print(json.dumps(g, ensure_ascii=False), flush=True)
    summary(got)


def summary(got):
    count = {}
    for g in got:
        count[g["outcome"]] = count.get(g["outcome"], 0) + 1
        count["over 3 s"] = count.get("over 3 s", 0) + g["slow"]
    for name, n in sorted(count.items(), key=lambda x: -x[1]):
        print(f"{n:6} {100 * n / len(got):5.1f} %  {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
