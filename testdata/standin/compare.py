"""Compares op recordings with the same names in two folders, line by line: compare.py MEASURED RECORDED"""
import gzip, os, re, sys


def lines(path):
    """a recording without block numbers and addresses, and without the scalar that another package allocated before the model"""
    out = []
    for line in gzip.open(path, "rt"):
        line = line.rstrip("\n")
        if line.startswith(("# {", "# torch")): continue
        line = re.sub(r"  #\d+.*$", "", line)
        line = re.sub(r"- #.*", "-", line)
        out.append(re.sub(r"object at 0x\w+\.*", "object", line))
    return [l for i, l in enumerate(out) if i > 6 or l not in ("    + 4", "    + 2")]


measured, recorded = sys.argv[1:3]
names = sorted(set(os.listdir(measured)) & set(os.listdir(recorded)))
equal = 0
for name in names:
    a, b = lines(os.path.join(measured, name)), lines(os.path.join(recorded, name))
    if a == b:
        equal += 1
        continue
    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    op = next((l for l in reversed(a[: i + 1]) if l.startswith("op")), "")
    print("%s, line %d, in %s: measured %s, recorded %s" % (name, i, op[:80], a[i : i + 1], b[i : i + 1]))
print("%d of %d recordings are equal" % (equal, len(names)))
