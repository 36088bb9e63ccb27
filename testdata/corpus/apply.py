# SPDX-License-Identifier: Apache-2.0
"""Writes snug's recommendation into the files of every answered run, checks them, and reverts the change.

    apply.py SNUG CORPUS < answers.jsonl > applied.jsonl

For each run, in the project's folder: `snug optimize --config-path FILE --gpu CARD --apply`, then `snug estimate` of
the written files, then `snug revert`. The card is A100-80GB, or CARD. The checks are:

- each written file parses with ordinary libraries, or with bash -n for scripts
- only the keys and files that snug names have changed
- batch x accumulation is unchanged, or a note says that it is not
- if the recommendation fits, so does the estimate of the written files
- the revert restores every byte and leaves no file behind

Writes one line per run, with its problems. A project's runs are processed in turn, so that no two change its files at once.
"""
import ast
import concurrent.futures
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import reading

CARD = os.environ.get("CARD", "A100-80GB")
LIMIT = 240  # seconds for one command
KINDS = (".yaml", ".yml", ".json", ".toml", ".sh", ".bash", ".slurm", ".sbatch", ".py", ".conf", ".cfg")


def files_of(root):
    """Returns the size and modification time of every file."""
    out = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            try:
                s = os.lstat(path)
            except OSError:
                continue
            out[os.path.relpath(path, root)] = (s.st_size, s.st_mtime_ns)
    return out


def bytes_of(path):
    with open(path, "rb") as f:
        return f.read()


def ask(snug, root, *words):
    try:
        p = subprocess.run([snug, *words], cwd=root, capture_output=True, text=True, errors="replace", timeout=LIMIT, env=dict(os.environ, NO_COLOR="1"), stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, "", ""
    return p.returncode, p.stdout, p.stderr


def answer(text):
    try:
        return json.loads(text.splitlines()[0])
    except (ValueError, IndexError):
        return {}


def parses(path):
    """Returns what is wrong with a written file, or None."""
    if path.endswith(".py"):
        try:
            ast.parse(reading.text_of(path))
        except SyntaxError as e:
            return str(e)
        return None
    if path.endswith((".sh", ".bash", ".slurm", ".sbatch")):
        p = subprocess.run(["bash", "-n", path], capture_output=True, text=True, errors="replace")
        return p.stderr[:200] if p.returncode else None
    return None if reading.document(path) is not None else "it is not a mapping any more"


def differences(name, old, new, edits):
    """Returns changed values that no edit names; for programs and scripts, changed lines beyond one per edit."""
    if name.endswith((".py", ".sh", ".bash", ".slurm", ".sbatch")):
        lines = [x for x in difflib.ndiff(old.decode(errors="replace").splitlines(), new.decode(errors="replace").splitlines()) if x[:2] in ("- ", "+ ")]
        added = [x for x in lines if x[0] == "+"]
        return [] if len(added) <= len(edits) else [f"{len(added)} lines written for {len(edits)} edits"]
    with tempfile.TemporaryDirectory() as folder:
        flat = []
        for i, data in enumerate((old, new)):
            path = os.path.join(folder, f"{i}{os.path.splitext(name)[1]}")
            with open(path, "wb") as f:
                f.write(data)
            flat.append(reading.flat(reading.document(path) or {}))
    before, after = flat
    named = {e["key"].split(".")[-1].strip("`\"'") for e in edits}
    changed = [k for k in sorted(set(before) | set(after)) if before.get(k, "absent") != after.get(k, "absent")]
    return [f"{k}: {before.get(k)} -> {after.get(k)}" for k in changed if not {k.split(".")[-1], *k.split(".")} & named]


def effective(settings):
    return settings.get("batch", 0) * settings.get("accumulation", 1) * ((settings.get("dist") or {}).get("world", 1))


def check(snug, root, run, kept):
    """Processes one run and returns its outcome and problems."""
    path, before, wrong = run["path"], files_of(root), []
    code, out, err = ask(snug, root, "optimize", "--config-path", path, "--gpu", CARD, "--apply", "--json")
    plan = answer(out)
    now = files_of(root)
    changed = sorted(k for k in now if k in before and now[k] != before[k])
    made = sorted(k for k in now if k not in before)
    if code not in (0, 1):
        if changed or made:
            wrong.append(("files were changed although it failed", changed + made))
        return ("timeout" if code is None else "not planned"), wrong, err.strip().splitlines()[-1:] if err.strip() else []
    edits = plan.get("files") or []
    if set(changed) != {e["path"] for e in edits}:
        wrong.append(("other files are different than the plan names", [changed, sorted({e["path"] for e in edits})]))
    for name in changed:
        problem = parses(os.path.join(root, name))
        if problem:
            wrong.append(("a written file does not parse", [name, problem]))
        if name in kept:
            extra = differences(name, kept[name], bytes_of(os.path.join(root, name)), [e for e in edits if e["path"] == name])
            if extra:
                wrong.append(("other values differ", [name] + extra[:4]))
    wrong += compared(snug, root, path, plan, err, bool(changed))
    wrong += reverted(snug, root, before, kept, bool(changed))
    return ("written" if changed else "nothing to change"), wrong, [f"{e['path']}: {e['key']} {e.get('from')} -> {e.get('to')}" for e in edits]


def compared(snug, root, path, plan, err, changed):
    """Returns what is wrong with the effective batch, and with the estimate of the written files."""
    wrong = []
    today, best = ((plan.get(k) or {}).get("settings") or {} for k in ("current", "recommended"))
    if best and effective(today) != effective(best) and "effective batch" not in err and "samples per step" not in err:
        wrong.append(("the effective batch changed without a note", [effective(today), effective(best)]))
    if not changed or not best:
        return wrong
    code, out, err = ask(snug, root, "estimate", "--config-path", path, "--gpu", CARD, "--json")
    got = answer(out)
    planned = plan["recommended"].get("estimate", {})
    if code not in (0, 1):
        wrong.append(("what was written cannot be estimated", err.strip().splitlines()[-1:]))
    elif planned.get("fits") and not got.get("fits"):
        wrong.append(("what was written does not fit", [got.get("device_peak"), planned.get("device_peak")]))
    elif got.get("peak_reserved") != planned.get("peak_reserved"):
        wrong.append(("what was written takes something else than planned", [got.get("peak_reserved"), planned.get("peak_reserved")]))
    return wrong


def reverted(snug, root, before, kept, changed):
    """Returns what the revert did not restore."""
    wrong = []
    if changed:
        code, _, err = ask(snug, root, "revert")
        if code != 0:
            wrong.append(("the revert failed", err.strip().splitlines()[-1:]))
    now = files_of(root)
    left = [k for k in now if k not in before]
    lost = [k for k in before if k not in now]
    other = [k for k in before if k in now and now[k] != before[k] and (k not in kept or bytes_of(os.path.join(root, k)) != kept[k])]
    for what, names in (("files are left", left), ("files are lost", lost), ("bytes are not restored", other)):
        if names:
            wrong.append((what, names[:5]))
    for name in left:
        os.remove(os.path.join(root, name))
    for name in other + lost:
        if name in kept:
            with open(os.path.join(root, name), "wb") as f:
                f.write(kept[name])
    shutil.rmtree(os.path.join(root, ".snug"), ignore_errors=True)
    return wrong


def project(snug, corpus, runs):
    root = os.path.join(corpus, runs[0]["project"].replace("/", "+", 1))
    kept = {k: bytes_of(os.path.join(root, k)) for k in files_of(root) if k.endswith(KINDS) and os.path.isfile(os.path.join(root, k))}
    for run in runs:
        became, wrong, said = check(snug, root, run, kept)
        yield {"project": run["project"], "path": run["path"], "system": run["system"], "became": became, "wrong": wrong, "said": said}


def main():
    snug, corpus = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    groups = {}
    for line in sys.stdin:
        run = json.loads(line)
        if run["outcome"] == "answered":
            groups.setdefault(run["project"], []).append(run)
    count = {}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 2))) as pool:
        for done in pool.map(lambda runs: list(project(snug, corpus, runs)), groups.values()):
            for row in done:
                print(json.dumps(row, ensure_ascii=False), flush=True)
                for what in [row["became"]] + sorted({w for w, _ in row["wrong"]}):
                    count[what] = count.get(what, 0) + 1
    for what, n in sorted(count.items(), key=lambda x: -x[1]):
        print(f"{n:6}  {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
