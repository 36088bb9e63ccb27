"""Runs a program as `python PROGRAM ARGS` would and writes its GPU memory peaks.

usage: peak.py OUT.json [--snapshot FILE] PROGRAM ARGS..."""
import json
import os
import runpy
import sys
import traceback


def peaks(torch):
    stats = torch.cuda.memory_stats()
    row = {name: stats.get(f"{name}_bytes.all.peak", 0) for name in ("allocated", "reserved")}
    row["retries"], row["ooms"] = stats.get("num_alloc_retries", 0), stats.get("num_ooms", 0)
    return row


def main():
    out, rest, snapshot = sys.argv[1], sys.argv[2:], None
    if rest[0] == "--snapshot":
        snapshot, rest = rest[1], rest[2:]
    import torch

    if snapshot:
        torch.cuda.memory._record_memory_history(max_entries=2_000_000, stacks="python", context="alloc")
    sys.argv, error = rest, None
    sys.path.insert(0, os.path.dirname(os.path.abspath(rest[0])))
    try:
        runpy.run_path(rest[0], run_name="__main__")
    except BaseException as e:  # the peaks so far are still useful
        error = (repr(e) + traceback.format_exc()[-600:])[:900]
    row = peaks(torch)
    if error:
        row["error"] = error
    if snapshot:
        torch.cuda.memory._dump_snapshot(snapshot)
    with open(out, "w") as f:
        json.dump(row, f)


main()
