"""Runs a program on the stand-in GPU, and computes its integers and booleans: run.py PROGRAM [ARGS...]"""
import ctypes, functools, math, os, runpy, sys, random
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

lib = ctypes.CDLL(None)
lib.standin_plant.argtypes = lib.standin_workspace.argtypes = [ctypes.c_int64]
WHOLE = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool}
LIMIT = 1 << 24
aten = torch.ops.aten
empty = torch.empty  # DeepSpeed replaces it while a model is made
ALLOC_ONLY = {aten.empty, aten.empty_like, aten.new_empty, aten.empty_strided, aten.new_empty_strided}
COMPARED = {aten.ge, aten.gt, aten.le, aten.lt, aten.isnan, aten.isinf}


def host(t):
    """Returns a CPU tensor over the same memory as a CUDA tensor."""
    st = t.untyped_storage()
    n = st.nbytes()
    if n == 0: return empty(t.shape, dtype=t.dtype)
    raw = torch.frombuffer((ctypes.c_uint8 * n).from_address(st.data_ptr()), dtype=torch.uint8)
    return empty(0, dtype=t.dtype).set_(raw.untyped_storage(), t.storage_offset(), t.shape, t.stride())


def known(t):
    """Returns whether a tensor's values are computed: whole numbers, and small tensors."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.layout is not torch.strided: return False
    return small(t) if t.dtype in WHOLE else t.numel() <= 4096 and small(t)


def accumulates(a, b):
    """Returns whether autograd adds a second gradient to one that nothing else refers to, which it does in place unless a dispatch mode is on."""
    if not torch.is_tensor(b) or a.shape != b.shape or a.dtype != b.dtype or torch._C._current_autograd_node() is None: return False
    caller = sys._getframe(3).f_back  # of __torch_dispatch__ and its wrappers: none in autograd's thread, or a backward within a backward
    if caller is not None and caller.f_code.co_name != "_engine_run_backward": return False
    return a._use_count() == 4 and torch._C._storage_Use_Count(a.untyped_storage()._cdata) == 2


def during(name):
    """Returns whether autograd runs this function: some of its functions copy a tensor only because a dispatch mode is on."""
    node = torch._C._current_autograd_node()
    return node is not None and node.name() == name


def small(t): return t.untyped_storage().nbytes() <= LIMIT


class Values(TorchDispatchMode):
    """Computes values. If seen is set, the effects of a dispatch mode on autograd are left as they are."""
    seen = False

    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        flat = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        cuda = any(x.is_cuda for x in flat)
        whole = all(known(x) for x in flat)
        p = f.overloadpacket
        if not self.seen:
            if p is aten.scatter_add and during("GatherBackward0"): f = aten.scatter_add_.default
            if f is aten.add.Tensor and accumulates(*args[:2]): f = aten.add_.Tensor
        if cuda: self.plant(p, args, whole)
        if p is aten._scaled_dot_product_cudnn_attention_backward: self.grouped(args)
        out = f(*args, **kwargs)
        lib.standin_unplant()
        if p is aten._scaled_dot_product_cudnn_attention_backward: lib.standin_workspace(0)
        if not cuda and not ("device" in kwargs and torch.device(kwargs["device"] or "cpu").type == "cuda"): return out
        if p in ALLOC_ONLY or f.is_view: return out
        outs = [o for o in tree_flatten(out)[0] if isinstance(o, torch.Tensor)]
        if whole and outs and all(known(o) for o in outs): self.compute(f, args, kwargs, out)
        elif cuda and p in COMPARED and small(out): host(out).zero_()  # no value is beyond a bound
        elif cuda and p in (aten.topk, aten.sort, aten.argsort, aten.argmax, aten.argmin): self.choose(p, args, outs)
        return out

    def grouped(self, args):
        """Heads that share keys and values get gradients of their own, which are summed afterwards."""
        _, q, k, v = args[:4]
        b, h, s = k.shape[0], q.shape[1], k.shape[2]
        lib.standin_workspace(b * h * s * (k.shape[3] + v.shape[3]) * k.element_size() if h != k.shape[1] else 0)

    def plant(self, p, args, whole):
        try:
            if p in (aten.nonzero, aten.masked_select) and args[-1].dtype in WHOLE: lib.standin_plant(int(host(args[-1]).ne(0).sum()))
            elif p in (aten.index, aten.index_put, aten.index_put_, aten._unsafe_index):
                for i in args[1]:
                    if i is not None and i.dtype in (torch.bool, torch.uint8): lib.standin_plant(int(host(i).ne(0).sum()))
            elif p is aten.masked_scatter_backward: lib.standin_plant(math.prod(args[2]))
            elif p is aten.unique_consecutive and whole: lib.standin_plant(len(host(args[0]).unique_consecutive()))
            elif p is aten.repeat_interleave and whole:
                lib.standin_plant(int(host(args[0]).sum()))
                lib.standin_plant(1)  # no number is negative
        except Exception as e: sys.stderr.write("standin: %s: %s\n" % (p, e))

    def compute(self, f, args, kwargs, out):
        there = lambda x: host(x) if isinstance(x, torch.Tensor) and x.is_cuda else x
        kw = tree_map(there, kwargs)
        if "device" in kw: kw["device"] = torch.device("cpu")
        kw.pop("pin_memory", None)
        at = tree_map(there, args)
        if f.overloadpacket is aten.histc: at = (at[0].float(),) + tuple(at[1:])  # the CPU counts no integers
        try:
            with torch.utils._python_dispatch._disable_current_modes(): got = f(*at, **kw)
        except Exception as e:
            sys.stderr.write("standin: %s: %s\n" % (f, str(e)[:100])); return
        for o, g in zip(tree_flatten(out)[0], tree_flatten(got)[0]):
            if isinstance(o, torch.Tensor) and o.shape == g.shape: (host(o) if o.is_cuda else o).copy_(g)

    def choose(self, p, args, outs):
        """Returns random indices where the real ones depend on floating-point values."""
        o, t = outs[-1], args[0]
        if o.dtype != torch.int64 or not small(o) or t.dim() == 0: return
        if p in (aten.argmax, aten.argmin):
            n = t.shape[args[1]] if len(args) > 1 and args[1] is not None else t.numel()
            host(o).random_(0, n); return
        d = {aten.topk: 2, aten.sort: 1, aten.argsort: 1}[p]
        dim = args[d] if len(args) > d and isinstance(args[d], int) else -1
        n = t.shape[dim]
        h = host(o).movedim(dim, -1)
        h.copy_(torch.rand(h.shape[:-1] + (n,)).argsort(-1)[..., : h.shape[-1]])


values = Values()
register = torch.library.register_kernel


def register_kernel(op, device, func=None, /, **kwargs):
    """Ops of another library are Python functions: the ops that they call are seen too."""
    def seen(func):
        @functools.wraps(func)
        def run(*args, **kwargs):
            with values: return func(*args, **kwargs)
        register(op, device, run, **kwargs)
        return func
    return seen if func is None else seen(func)


if __name__ == "__main__":
    torch.library.register_kernel = register_kernel
    sys.argv = sys.argv[1:]
    os.environ["SNUG_STANDIN"] = "1"
    sys.path[0] = sys.argv[0].rsplit("/", 1)[0] if "/" in sys.argv[0] else "."
    Values.seen = sys.argv[0].endswith(("opslog.py", "harness.py"))  # the tests simulate what a dispatch mode does there
    values.__enter__()
    runpy.run_path(sys.argv[0], run_name="__main__")
