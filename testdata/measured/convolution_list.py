"""Lists convolutions of networks that people write themselves, for convolutions.py, without those that the table has:

    python3 convolution_list.py ../../internal/kernel/cudnn_workspaces.txt > LIST
    OUT=. python3 convolutions.py 90 12 float32,bfloat16 LIST
"""
import random
import sys

found = {}


def number(text):
    return tuple(int(x) for x in (text.split("x") if "x" in text else (text, text)))


def table(path):
    for row in open(path):
        if row[0] == "n":
            f = row.split()
            yield (f[0], int(f[1])) + number(f[2]) + (int(f[3]),) + number(f[4]) + number(f[5]) + number(f[6]) + number(f[7]) + (int(f[8]),)


have = set(table(sys.argv[1]))


def put(tag, key):
    _, _, h, w, _, r, s, sh, sw, ph, pw, dh, dw, _ = key
    if key not in have and h + 2 * ph > dh * (r - 1) and w + 2 * pw > dw * (s - 1):
        found.setdefault(key, tag)


def image(channels, side, filters, kernel, stride=1, padding=None):
    p = kernel // 2 if padding is None else padding
    put("image", ("nchw", channels, side, side, filters, kernel, kernel, stride, stride, p, p, 1, 1, 1))


def line(channels, length, filters, kernel, padding=0, dilation=1, stride=1):
    put("line", ("nchw", channels, 1, length, filters, 1, kernel, 1, stride, 0, padding, 1, dilation, 1))


def small_classifiers():
    for side, channels in ((28, 1), (32, 3), (64, 3), (96, 3), (128, 3)):
        for k in (16, 32, 64, 128):
            image(channels, side, k, 3), image(channels, side, k, 3, 1, 0), image(channels, side, k, 5)
        for a, b in ((16, 32), (32, 32), (32, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512)):
            for s in (side, side // 2, side // 4, side // 8):
                if s >= 4 and a * s <= 8192:
                    image(a, s, b, 3)
        for a, b in ((32, 64), (64, 64), (64, 128)):
            image(a, side // 2 - 1, b, 3, 1, 0), image(a, side - 2, b, 3, 1, 0)
    for channels, k, side in ((1, 6, 28), (1, 10, 28), (1, 20, 28), (1, 32, 28), (3, 6, 32), (3, 32, 32), (6, 16, 12), (6, 16, 14), (10, 20, 12), (20, 50, 12), (32, 64, 12), (32, 64, 14)):
        image(channels, side, k, 5, 1, 0), image(channels, side, k, 5)


def residual():
    for side in (32, 64):
        for width in (16, 32, 64, 160):
            image(3, side, width, 3)
            for i in range(4):
                a, s = width << i, side >> i
                image(a, s, a, 3)
                if s > 4:
                    image(a, s, 2 * a, 3, 2), image(a, s, 2 * a, 1, 2)
        for a, s in ((64, side), (128, side // 2), (256, side // 4), (512, side // 8)):
            image(a, s, 4 * a, 1), image(4 * a, s, a, 1), image(4 * a, s, 2 * a, 1)
    for side in (96, 112, 128, 160, 192, 256, 288, 320, 384, 448, 512):
        image(3, side, 64, 7, 2)
        for i in range(4):
            w, s = 64 << i, side >> (2 + i)
            image(w, s, w, 3), image(w, s, 4 * w, 1), image(4 * w, s, w, 1), image(w, s, w, 1)
            if i < 3:
                image(w, s, 2 * w, 3, 2), image(w, s, 2 * w, 1, 2), image(4 * w, s, 2 * w, 1), image(2 * w, s, 2 * w, 3, 2), image(4 * w, s, 8 * w, 1, 2)


def segmentation():
    for side in (64, 96, 128, 192, 256, 512):
        for base in (16, 32, 64):
            image(3, side, base, 3), image(1, side, base, 3)
            for i in range(4):
                a, s = base << i, side >> i
                image(a, s, a, 3), image(a, s // 2, 2 * a, 3), image(2 * a, s, a, 3), image(3 * a, s, a, 3), image(a, s, 2 * a, 2, 2, 0), image(a, s, 2 * a, 4, 2, 1)
            image(16 * base, side // 16, 16 * base, 3), image(8 * base, side // 16, 16 * base, 3)
            for k in (1, 2, 3, 4, 21):
                image(base, side, k, 1)


def diffusion():
    for side in (28, 32, 64):
        for base in (32, 64, 96, 128):
            image(3, side, base, 3), image(1, side, base, 3), image(base, side, 3, 3), image(base, side, 1, 3), image(base, side, 3, 1), image(base, side, 1, 1)
            for i in range(4):
                s = side >> i
                for a in sorted({base << i, base << min(i, 1), base << min(i, 2)} if s >= 4 else ()):
                    image(a, s, a, 3), image(2 * a, s, a, 3), image(3 * a, s, a, 3), image(a, s, 2 * a, 3), image(3 * a // 2, s, a, 3)
                    image(a, s, 3 * a, 1), image(2 * a, s, a, 1), image(3 * a // 2, s, a, 1), image(a, s, a, 1), image(a, s, 2 * a, 1), image(a, s, 384, 1), image(128, s, a, 1)
                    image(a, s, a, 3, 2), image(a, s, a, 4, 2, 1), image(a, s, 2 * a, 4, 2, 1)


def adversarial():
    for side in (28, 32, 64, 128, 256):
        for n in (32, 64, 128):
            image(1, side, n, 4, 2, 1), image(3, side, n, 4, 2, 1)
            a, s = n, side // 2
            while s >= 8 and a <= 512:
                image(a, s, 2 * a, 4, 2, 1)
                a, s = 2 * a, s // 2
            image(a, 4, 1, 4, 1, 0), image(a, 4, 100, 4, 1, 0), image(a, 4, 128, 4, 1, 0), image(a, 7, 1, 7, 1, 0)
    for side in (128, 256):
        image(3, side, 64, 4, 2, 1), image(6, side, 64, 4, 2, 1), image(64, side // 2, 128, 4, 2, 1), image(128, side // 4, 256, 4, 2, 1), image(256, side // 8, 512, 4, 1, 1), image(512, side // 8 - 1, 1, 4, 1, 1)
        for s in (32, 16, 8, 4, 2):
            image(512, s, 512, 4, 2, 1), image(512, s, 1024, 4, 2, 1), image(256, s, 1024, 4, 2, 1)
        image(64, side // 2, 256, 4, 2, 1), image(128, side // 4, 512, 4, 2, 1), image(3, side, 128, 4, 2, 1)
        image(3, side + 6, 64, 7, 1, 0), image(64, side + 6, 3, 7, 1, 0), image(64, side, 128, 3, 2), image(128, side // 2, 256, 3, 2), image(256, side // 4 + 2, 256, 3, 1, 0), image(256, side // 4, 256, 3)
        image(3, side + 8, 32, 9, 1, 0), image(32, side + 2, 64, 3, 2, 0), image(64, side // 2 + 2, 128, 3, 2, 0), image(128, side // 4 + 2, 128, 3, 1, 0)


def super_resolution():
    for side in (24, 32, 48, 64, 96, 128, 192):
        for a in (64, 128, 256):
            image(3, side, a, 3), image(a, side, a, 3), image(a, side, 3, 3)
        image(64, side, 256, 3), image(3, side, 64, 9), image(64, side, 3, 9), image(64, side, 32, 5), image(64, side, 32, 1), image(32, side, 3, 5), image(1, side, 64, 9), image(256, side, 1024, 3)


def autoencoders():
    for side, channels in ((28, 1), (32, 3), (64, 3), (128, 3)):
        s = side
        for a, b in ((channels, 32), (32, 64), (64, 128), (128, 256), (256, 512)):
            if s >= 4:
                image(a, s, b, 3, 2), image(a, s, b, 4, 2, 1), image(a, s, b, 3, 2, 0)
            s //= 2
        image(channels, side, 16, 3, 2), image(16, side // 2, 32, 3, 2), image(32, side, channels, 3), image(16, side, channels, 3)
        s = side // 4
        image(64, s, 64, 3), image(128, s, 128, 3), image(128, s, 32, 3), image(32, s, 128, 1), image(128, s, 64, 1), image(64, s, 128, 3)


def patches():
    for side in (32, 64, 96, 128, 160, 192, 256, 288, 320, 384, 448, 512):
        for p in (4, 8, 14, 16, 32):
            if side % p == 0 and side // p <= 32:
                for width in (128, 192, 256, 384, 512, 768, 1024):
                    image(3, side, width, p, p, 0)


def signals():
    for length in (128, 256, 512, 1000, 1024, 2000, 4000, 4096, 8000, 16000):
        for a, b in ((1, 32), (1, 64), (32, 32), (32, 64), (64, 64), (64, 128), (128, 128), (128, 256)):
            if a == 1 or length <= 8192:
                for k in (3, 5, 7):
                    line(a, length, b, k, k // 2)
    for length in (64, 128, 256, 512):
        for width in (128, 300, 768):
            for k in (2, 3, 4, 5):
                line(width, length, 100, k)
            line(width, length, 128, 3), line(width, length, 256, 3, 1)
    for a in (32, 64, 128):
        for length in (4096, 8000, 16000):
            for d in (1, 2, 4, 8, 16, 64, 256, 512):
                line(a, length, a, 2, 0, d), line(a, length, 2 * a, 3, d, d)
            line(a, length, a, 1), line(a, length, 2 * a, 1), line(a, length, 256, 1)
    line(1, 16000, 128, 80, 38, 1, 4), line(1, 16000, 32, 80, 0, 1, 16), line(1, 8000, 32, 80, 0, 1, 16), line(1, 8000, 128, 80, 0, 1, 4)


for part in small_classifiers, residual, segmentation, diffusion, adversarial, super_resolution, autoencoders, patches, signals:
    part()
rows = ["# %s %s" % (tag, " ".join(map(str, key))) for key, tag in found.items()]
random.Random(1).shuffle(rows)  # so that a time limit leaves out some of each kind
print("\n".join(rows))
