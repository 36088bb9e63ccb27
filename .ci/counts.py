"""Counts the tests in `go test -json` output, prints failures, ends with one line."""
import json
import sys

count = {"pass": 0, "fail": 0, "skip": 0}
for line in sys.stdin:
    try:
        event = json.loads(line)
    except ValueError:
        continue
    if event.get("Test") and event.get("Action") in count:
        count[event["Action"]] += 1
        if event["Action"] == "fail":
            print("FAIL", event["Package"], event["Test"])
print("%(pass)d passed, %(fail)d failed, %(skip)d skipped" % count)
sys.exit(1 if count["fail"] else 0)
