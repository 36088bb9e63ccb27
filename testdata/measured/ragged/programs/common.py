"""Shared by all programs here: options, the run, and its peaks at the end."""
import argparse, json, os, random, sys
import torch

p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=8)
p.add_argument("--steps", type=int, default=40)
p.add_argument("--seed", type=int, default=0)
p.add_argument("--amp", default="")
p.add_argument("--packed", action="store_true")
p.add_argument("--variant", default="")
args = p.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"
AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(args.amp)


def autocast():
    return torch.autocast(device, dtype=AMP or torch.bfloat16, enabled=AMP is not None)


def lengths(n, median=60, sigma=0.6, most=400):
    r = random.Random(7)
    return [min(most, max(3, int(median * 2.718281828 ** (sigma * r.gauss(0, 1))))) for _ in range(n)]


def end():
    if device == "cuda":
        out = dict(program=os.path.basename(sys.argv[0]), argv=sys.argv[1:], reserved=torch.cuda.max_memory_reserved(),
                   allocated=torch.cuda.max_memory_allocated())
        print("PEAK " + json.dumps(out), flush=True)
