"""Records what torchao's 8-bit AdamW allocates and frees on the stand-in, in the format of measured/optim_ops.py, for
TestOptimizers in internal/shadow/train.

usage: FOLDER/python torchao_ops.py OUT.txt      needs torchao and triton

The update is compiled: Triton's own library (cuda_utils.so in its cache, after a first attempt) is one of the libraries
that the stand-in is built with. In the first step of a run, kernels are compared for speed, on copies; that is done
here before the recording starts. The block size is the one that transformers 5.17 passes."""
import sys, warnings

warnings.simplefilter("ignore")
import torch, torchao
from importlib.metadata import version
from torch.utils._python_dispatch import _disable_current_modes

PARAMS = ["f32:1000", "f32:64x64", "bf16:64x128", "f32:3x5", "bf16:4100", "none", "bf16:300x300", "bf16:512x512", "f32:256x768"]
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def parameters():
    for text in PARAMS:
        kind, _, shape = ("f32:7x7" if text == "none" else text).partition(":")
        p = torch.nn.Parameter(torch.empty([int(n) for n in shape.split("x")], dtype=TYPES[kind], device="cuda"))
        if text != "none":
            p.grad = torch.empty_like(p)
        yield p


def events(numbers):
    for e in torch.cuda.memory._snapshot()["device_traces"][0]:
        if e["action"] == "alloc":
            numbers[0] += 1
            numbers[e["addr"]] = numbers[0]
            yield "  + %d  #%d" % (e["size"], numbers[0])
        elif e["action"] == "free_completed":
            yield "  - #%d" % numbers.pop(e["addr"])


def record():
    params, numbers = list(parameters()), {0: 0}
    lines = ["make"]
    optimizer = torchao.optim.AdamW8bit(params, lr=1e-4, block_size=256)
    for _ in range(2):
        torch.cuda.memory._record_memory_history(max_entries=1_000_000)
        optimizer.step()
        lines += ["step", *events(numbers)]
        torch.cuda.memory._record_memory_history(enabled=None)
    return lines


if __name__ == "__main__":
    import torchao.optim
    with _disable_current_modes():
        record()
        lines = record()
    with open(sys.argv[1], "w") as f:
        f.write("# parameters %s\n" % " ".join(PARAMS))
        f.write("# optimizer adamw-torchao-8bit, torchao %s, recorded on the stand-in for a GPU (testdata/standin)\n" % version("torchao"))
        f.write("\n".join(lines) + "\n")
