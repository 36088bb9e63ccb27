"""Turns what harness.py recorded into rows of runs.jsonl: rows.py OUT.jsonl SETUPS.jsonl >> runs.jsonl

SETUPS.jsonl has one setup per line, as `snug estimate` reads it, with the id of its case."""
import json, sys

recorded = {r["case"]["id"]: r for r in map(json.loads, open(sys.argv[1]))}
for setup in map(json.loads, open(sys.argv[2])):
    r = recorded[setup["id"]]
    print(json.dumps({"setup": setup, "recorded": {k: r[k] for k in ("params", "trainable", "peak_allocated", "peak_reserved")}}))
