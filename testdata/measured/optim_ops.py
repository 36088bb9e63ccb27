"""Records what optimizers allocate and free, without a GPU: two steps on tensors on PyTorch's meta
device, which have a shape and a type but no values. Written for TestOptimizers in
internal/shadow.

usage: optim_ops.py OUT.txt      needs torch, lion-pytorch, bitsandbytes; line format:
  # optimizer adagrad, torch 2.11.0
  make, step      the constructor, or the next call to step
    + 1024  #7    memory on the device
    - #7          it is freed

Memory on the CPU, such as the step counter, is omitted. bitsandbytes' kernels do nothing here: they
work in place."""
import sys, warnings, weakref

warnings.simplefilter("ignore")
import bitsandbytes, bitsandbytes.functional, bitsandbytes.optim.optimizer, lion_pytorch, torch
from importlib.metadata import version
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

# Shapes and types of the parameters: below and above the 4096 elements from which states have
# 8 bits, sizes that 256 does not divide, alternating types, one without a gradient.
PARAMS = [((1000,), "f32"), ((64, 64), "f32"), ((50, 100), "bf16"), ((3, 5), "f32"), ((4095,), "bf16"), ((4097,), "f32"), None, ((300, 300), "bf16")]
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
OPTIMIZERS = {
    "sgd": ("torch", lambda p: torch.optim.SGD(p, foreach=True)),
    "sgd-momentum": ("torch", lambda p: torch.optim.SGD(p, momentum=0.9, foreach=True)),
    "adam-loop": ("torch", lambda p: torch.optim.Adam(p, foreach=False)),
    "adamw": ("torch", lambda p: torch.optim.AdamW(p, foreach=True)),
    "rmsprop": ("torch", lambda p: torch.optim.RMSprop(p, foreach=True)),
    "adagrad": ("torch", lambda p: torch.optim.Adagrad(p, foreach=True)),
    "adam-amsgrad": ("torch", lambda p: torch.optim.AdamW(p, amsgrad=True, foreach=True)),
    "adamax": ("torch", lambda p: torch.optim.Adamax(p, foreach=True)),
    "nadam": ("torch", lambda p: torch.optim.NAdam(p, foreach=True)),
    "radam": ("torch", lambda p: torch.optim.RAdam(p, foreach=True)),
    "sgd+decay": ("torch", lambda p: torch.optim.SGD(p, weight_decay=0.1, foreach=True)),
    "sgd-momentum+decay": ("torch", lambda p: torch.optim.SGD(p, momentum=0.9, weight_decay=0.1, foreach=True)),
    "adam+decay": ("torch", lambda p: torch.optim.Adam(p, weight_decay=0.1, foreach=True)),
    "adam-amsgrad+decay": ("torch", lambda p: torch.optim.Adam(p, weight_decay=0.1, amsgrad=True, foreach=True)),
    "rmsprop+decay": ("torch", lambda p: torch.optim.RMSprop(p, weight_decay=0.1, foreach=True)),
    "adagrad+decay": ("torch", lambda p: torch.optim.Adagrad(p, weight_decay=0.1, foreach=True)),
    "adamax+decay": ("torch", lambda p: torch.optim.Adamax(p, weight_decay=0.1, foreach=True)),
    "nadam+decay": ("torch", lambda p: torch.optim.NAdam(p, weight_decay=0.1, foreach=True)),
    "radam+decay": ("torch", lambda p: torch.optim.RAdam(p, weight_decay=0.1, foreach=True)),
    "lion": ("lion-pytorch", lambda p: lion_pytorch.Lion(p)),
    "adamw-8bit": ("bitsandbytes", lambda p: bitsandbytes.optim.AdamW8bit(p)),
    "lion-8bit": ("bitsandbytes", lambda p: bitsandbytes.optim.Lion8bit(p)),
}


class Log(TorchDispatchMode):
    def __init__(self, known):
        super().__init__()
        self.lines, self.known, self.count = [], {t.untyped_storage()._cdata for t in known}, 0

    def own(self, t):
        storage = t.untyped_storage()
        key = storage._cdata
        if key in self.known or t.device.type != "meta":
            return
        self.known.add(key)
        self.count += 1
        n = self.count
        self.lines.append("  + %d  #%d" % (storage.nbytes(), n))

        def gone():
            self.lines.append("  - #%d" % n)
            self.known.discard(key)

        weakref.finalize(storage, gone)

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        out = op(*args, **(kwargs or {}))
        for t in tree_iter(out):
            if isinstance(t, torch.Tensor):
                self.own(t)
        return out


def parameters():
    for at in PARAMS:
        shape, kind = at or ((7, 7), "f32")
        p = torch.nn.Parameter(torch.empty(shape, dtype=TYPES[kind], device="meta"))
        if at:
            p.grad = torch.empty_like(p)
        yield p


def record(name):
    library, make = OPTIMIZERS[name]
    params = list(parameters())
    log = Log(params + [p.grad for p in params if p.grad is not None])
    with log:
        log.lines.append("make")
        optimizer = make(params)
        for _ in range(2):
            log.lines.append("step")
            optimizer.step()
    lines, log.lines = log.lines, []
    return ["# optimizer %s, %s %s" % (name, library, version(library))] + lines


if __name__ == "__main__":
    for kernel in ("optimizer_update_32bit", "optimizer_update_8bit_blockwise"):
        setattr(bitsandbytes.functional, kernel, lambda *args, **kwargs: None)
    bitsandbytes.optim.optimizer.sync_gpu = lambda t: None
    shapes = " ".join("none" if at is None else at[1] + ":" + "x".join(map(str, at[0])) for at in PARAMS)
    with open(sys.argv[1], "w") as f:
        f.write("# parameters %s\n" % shapes)
        for name in OPTIMIZERS:
            f.write("\n".join(record(name)) + "\n")
