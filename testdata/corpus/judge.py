# SPDX-License-Identifier: Apache-2.0
"""Looks for answers that are silently wrong, and for unhelpful refusals.

    judge.py CORPUS < answers.jsonl > verdicts.jsonl

Each answered run is read again with ordinary libraries (facts.py), and its settings are compared with the
setup that snug used and with its notes. A difference that no note mentions makes the run `wrong`. Each refusal
is `helpful` if it names something that the files contain and snug does not simulate, or asks for something
they do not contain; otherwise it is `unhelpful`, with the reason. The table is written to standard error.
"""
import json
import os
import sys

import compare
import facts
import refusals
import score


def verdict(corpus, got):
    root = os.path.join(corpus, got["project"].replace("/", "+", 1))
    got = dict(got, setup=score.setup(got["shown"])) if got["outcome"] == "answered" else got
    said = facts.of(root, got, got["setup"]["files"] if got["outcome"] == "answered" else "")
    if got["outcome"] == "answered":
        found = compare.suspicions(got, said)
        return ("wrong" if found else "right"), found
    if got["outcome"] == "refused":
        return refusals.sort(root, got, said)
    if got["outcome"] == "not recognized":
        return "not recognized", [(f"{got['kind']} of {got['system']}", got["error"][:160])]
    return got["outcome"], [(got["outcome"], "")]


COLUMNS = ("right", "wrong", "helpful", "name", "unhelpful", "not recognized", "crash", "timeout")


def table(rows):
    """Returns the counts by system, as a Markdown table."""
    systems = {}
    for r in rows:
        for s in (r["system"], "all"):
            systems.setdefault(s, dict.fromkeys(COLUMNS, 0))[r["verdict"]] += 1
    out = ["| system | runs | " + " | ".join(COLUMNS) + " |", "| --- " * (len(COLUMNS) + 2) + "|"]
    for s in sorted(systems, key=lambda s: (s != "all", -sum(systems[s].values()))):
        n = sum(systems[s].values())
        cells = [f"{systems[s][c]} ({100 * systems[s][c] / n:.1f} %)" if s == "all" else str(systems[s][c] or "") for c in COLUMNS]
        out.append(f"| {s} | {n} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def causes(rows, kind, most=12):
    """Returns the runs with one verdict, grouped by cause, most frequent first."""
    groups = {}
    for r in rows:
        if r["verdict"] == kind:
            for cause, detail in r["evidence"][:6]:
                groups.setdefault(cause, []).append((r, detail))
    out = []
    for cause, found in sorted(groups.items(), key=lambda x: -len(x[1])):
        out.append(f"\n**{len(found)} × {cause}**\n")
        for r, detail in found[:most]:
            out.append(f"- `{r['project']}` `{r['path']}` ({r['system']}): {detail}")
        if len(found) > most:
            out.append(f"- … and {len(found) - most} more")
    return "\n".join(out)


def main():
    corpus, rows = sys.argv[1], []
    for line in sys.stdin:
        got = json.loads(line)
        kind, evidence = verdict(corpus, got)
        rows.append(dict(got, verdict=kind, evidence=evidence))
        print(json.dumps(rows[-1], ensure_ascii=False))
    most = int(os.environ.get("MOST", "12"))
    print(table(rows), file=sys.stderr)
    for title, kind in (("Answered wrong", "wrong"), ("Unhelpful refusals", "unhelpful"), ("Names of models that are not known", "name"),
                        ("Not recognized", "not recognized"), ("Refused helpfully", "helpful"), ("Timeouts", "timeout"), ("Crashes", "crash")):
        print(f"\n## {title}\n{causes(rows, kind, most)}", file=sys.stderr)


if __name__ == "__main__":
    main()
