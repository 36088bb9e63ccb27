"""Counts the tests in `go test -json` output, prints the failures and the slowest packages, and ends with a one-line summary."""
import collections
import json
import sys

count = {"pass": 0, "fail": 0, "skip": 0}
said = collections.defaultdict(list)
seconds = {}
broken = False
for line in sys.stdin:
    try:
        event = json.loads(line)
    except ValueError:
        print(line, end="")
        continue
    action, name = event.get("Action"), (event.get("Package") or event.get("ImportPath"), event.get("Test"))
    if action in ("output", "build-output"):
        said[name].append(event["Output"])
    elif action in ("fail", "build-fail"):
        broken = True
        print("FAIL", *filter(None, name))
        print("".join(said.pop(name, [])), end="")
    else:
        said.pop(name, None)
    if not event.get("Test") and "Elapsed" in event:
        seconds[event.get("Package")] = event["Elapsed"]
    if event.get("Test") and action in count:
        count[action] += 1
slowest = sorted(seconds, key=seconds.get, reverse=True)[:8]
print("the slowest packages:", ", ".join("%s %.0f s" % (name, seconds[name]) for name in slowest))
print("%(pass)d passed, %(fail)d failed, %(skip)d skipped" % count)
sys.exit(1 if broken else 0)
