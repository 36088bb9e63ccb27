"""Adds what convolutions.py measured to the table of workspaces: convolution_table.py conv.txt ../../internal/kernel/cudnn_workspaces.txt

Sizes that kernel.workspaceAt computes from the two around them are left out, and so is float16 where it equals bfloat16."""
import sys

KINDS, TYPES = ("fprop", "dgrad", "wgrad"), ("bfloat16", "float16", "float32")


def scaled(p, batch):
    return p[1] * batch // p[0]


def same_kernel(a, b):
    return a[1] <= b[1] <= scaled(a, b[0]) + scaled(a, b[0]) // 8 + 1024


def between(a, b, batch):
    """Does what kernel.workspaceAt does."""
    if same_kernel(a, b):
        return int(a[1] + (b[1] - a[1]) / (b[0] - a[0]) * (batch - a[0]))
    return max(scaled(a, batch), scaled(b, batch))


def thin(points):
    kept = points[:1]
    while kept[-1] != points[-1]:
        i = points.index(kept[-1])
        for j in range(len(points) - 1, i, -1):
            if all(between(points[i], points[j], p[0]) == p[1] for p in points[i + 1 : j]):
                kept.append(points[j])
                break
    return kept


def pair(a, b):
    return str(a) if a == b else "%sx%s" % (a, b)


def read_measured(path):
    found = {}
    for line in open(path):
        f = line.split()
        if line[0] == "#" or f[16] != "Cudnn" and "Cudnn" not in f[16]:
            continue
        points = [tuple(int(v) for v in x.split(":")) for x in f[17:] if x.split(":")[1].isdigit()]
        if not points:
            continue
        layout, kind, (c, h, w, k, r, s, sh, sw, ph, pw, dh, dw, g) = f[1], f[2], f[3:16]
        shape = " ".join((layout, c, pair(h, w), k, pair(r, s), pair(sh, sw), pair(ph, pw), pair(dh, dw), g))
        found.setdefault(shape, {})[kind, f[0]] = thin(points)
    return found


def read_table(path):
    head, shapes, at = [], {}, None
    for line in open(path):
        if line[0] == "#":
            head.append(line)
        elif line[0] == " ":
            shapes[at].append(line)
        else:
            at = line.strip()
            shapes[at] = []
    return head, shapes


def number(text):
    return tuple(int(x) for x in (text.split("x") if "x" in text else (text, text)))


def order(shape):
    f = shape.split()
    return (f[0] == "nhwc", int(f[1]), number(f[2]), int(f[3])) + tuple(number(x) for x in f[4:])


def main():
    measured, (head, shapes) = read_measured(sys.argv[1]), read_table(sys.argv[2])
    for shape, rows in measured.items():
        if shape in shapes:
            continue
        shapes[shape] = [" %s %s %s\n" % (kind, t, " ".join("%d:%d" % p for p in rows[kind, t])) for kind in KINDS for t in TYPES
                         if (kind, t) in rows and not (t == "float16" and rows[kind, t] == rows.get((kind, "bfloat16")))]
    with open(sys.argv[2], "w") as f:
        f.writelines(head)
        for shape in sorted(shapes, key=order):
            f.write(shape + "\n")
            f.writelines(shapes[shape])


main()
