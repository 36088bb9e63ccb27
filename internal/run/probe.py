# SPDX-License-Identifier: Apache-2.0
"""snug's probe: it watches a training run from inside, without disturbing it.

snug puts this file, named sitecustomize.py, into its own folder and puts that folder at
the front of PYTHONPATH. Every Python process of the user's command then loads it before
anything else: each rank and each worker, whatever the launcher. The probe waits until
torch is imported, records what the caching allocator does, and counts optimizer steps.
After the requested number of steps it ends the run, or lets it continue. For snug watch it
records nothing and reports each step over a socket instead (class Live).

Reports go to PID.jsonl next to this file (NODE-PID.jsonl in a job of several nodes), one JSON object per line, so that little is
lost if a process is killed. The recording goes to PID.pickle. Settings are read from
probe.json, which internal/run writes; the defaults, such as the number of steps, are in
internal/record/plan.go. Needs Python 3.8 and torch 2.1, or later.

The most important rule: a failure in the probe is reported and otherwise ignored, and
training continues. The probe never starts CUDA, prints, or touches the user's files. It
must not slow the run down: after the first steps, reporting takes at most a fixed
fraction of the run's time, and once the steps are recorded all hooks are removed.
"""
import atexit
import importlib.machinery
import json
import os
import pickle
import sys
import threading
import time
import weakref

HOME = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("transformers", "accelerate", "deepspeed", "peft", "trl", "lightning", "pytorch_lightning", "torchvision",
             "timm", "bitsandbytes", "flash_attn", "xformers", "apex", "triton", "numpy")
NODE = os.environ["SLURM_NODEID"] + "-" if os.environ.get("SLURM_JOB_NUM_NODES", "1") != "1" and "SLURM_NODEID" in os.environ else ""
ALWAYS = 4     # steps that are reported at once and in full, whatever that costs
SHARE = 0.001  # share of the time since then that reporting may take
CLOCKS = 1000  # steps that are timed on the GPU
SAMPLES = 4000  # samples in the dataset to examine after the run
PATIENCE = 3.0  # seconds that examining them may take
ORDER = "_snug_order"  # attribute of an iterator: the samples that it has requested
READABLE = 1 << 20  # most elements of a tensor whose values are read
MOST_FAILED = 50  # most snapshots of failed requests, because a program may retry endlessly
WARM_UP = 3  # first steps, which are slower than later ones; WarmUp in internal/tune/steady.go
FEW = 5      # step times needed before a run can be steady
SURE = 2.8   # half-width of the 95 % interval of a mean of FEW times, in standard errors
AHEAD = 5    # steps that a rank may be ahead of the rank that decides when the run ends


# ---------------------------------------------------------------- reports
class Report:
    """Writes this process's report. A forked child starts its own report."""

    def __init__(self):
        self.after_fork()

    def hold(self, event, **fields):
        """Adds an event that is written together with the next line."""
        self.held.append(dict(event=event, time=time.time(), **fields))

    def write(self, event, **fields):
        self.hold(event, **fields)
        lines, self.held = self.held, []
        if self.file is None:
            self.file = os.open(os.path.join(HOME, "%s%d.jsonl" % (NODE, self.pid)), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        text = "".join(json.dumps(x, default=str) + "\n" for x in lines)
        os.write(self.file, text.encode("utf-8", "replace"))

    def failed(self, where, err):
        self.failures += 1
        if self.failures <= 20:
            try:
                self.write("failure", where=where, what="%s: %s" % (type(err).__name__, str(err)[:300]))
            except Exception:
                pass

    def after_fork(self):
        self.pid, self.file, self.failures, self.held = os.getpid(), None, 0, []


def quietly(f):
    """Wraps f so that its exceptions are reported instead of raised."""
    def run(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except Exception as err:
            report.failed(f.__name__, err)
    run.__name__ = f.__name__
    run._torchdynamo_disable = True  # torch.compile must not trace it
    return run


def start():
    env = os.environ.get
    ranks = {k.lower(): int(env(k)) for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE") if (env(k) or "").isdigit()}
    report.write("start", pid=os.getpid(), parent=os.getppid(), python=sys.version.split()[0], **ranks)


# ---------------------------------------------------------------- waiting for imports
class Finder:
    """Runs a function after the module with a given name has been imported."""

    def __init__(self, wanted):
        self.wanted = wanted

    def find_spec(self, name, path=None, target=None):
        then = self.wanted.get(name)
        if then is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                try:
                    self.follow(spec.loader, name, then)
                except Exception as err:
                    report.failed("import of " + name, err)
                return spec
        return None

    def follow(self, loader, name, then):
        plain = loader.exec_module

        def exec_module(module):
            plain(module)
            if self.wanted.pop(name, None):
                then(module)
        loader.exec_module = exec_module  # only for this loader object


# ---------------------------------------------------------------- inputs of the model
def tensors_of(torch, call):
    """Returns the tensors among a call's arguments, (args, kwargs), with their names."""
    found = []

    def walk(name, x, depth):
        if isinstance(x, torch.Tensor):
            found.append((name, x))
        elif not depth:
            return
        elif isinstance(x, dict) or hasattr(x, "items") and hasattr(x, "keys"):
            for k, v in x.items():
                walk("%s" % (k,), v, depth - 1)
        elif isinstance(x, (list, tuple)):
            for i, v in enumerate(x):
                walk("%s.%d" % (name, i), v, depth - 1)
        elif callable(getattr(x, "to_dict", None)):  # torch_geometric graphs
            walk(name, x.to_dict(), depth - 1)
    args, kwargs = call
    for i, x in enumerate(args):
        walk("%d" % i, x, 3)
    walk("", kwargs, 4)
    return found[:32]


class Shapes:
    """Records the model's inputs in every step, and the data of later steps. Values are read only on the CPU,
    because anything computed on the GPU would be recorded."""

    def __init__(self, torch, put):
        self.torch, self.put = torch, put
        self.calls, self.depth, self.classes = [], 0, set()
        self.loader = self.iterator = None
        self.batches = []  # from the loader

    def first_call(self, plain, module, args, kwargs):
        """Handles the first call in a step. From then on, calls of the module's class are recorded."""
        kind = type(module)
        if kind not in self.classes and len(self.classes) < 8:
            self.classes.add(kind)
            quietly(self.follow)(kind)
            return module(*args, **kwargs)
        return plain(module, *args, **kwargs)

    def follow(self, kind):
        own = vars(kind).get("__call__")
        note = quietly(self.note)

        def call(module, *args, **kwargs):
            if self.depth == 0:
                note(module, args, kwargs)
            self.depth += 1
            try:
                return own(module, *args, **kwargs) if own else super(kind, module).__call__(*args, **kwargs)
            finally:
                self.depth -= 1
        self.put(kind, "__call__", call)

    def note(self, module, args, kwargs):
        if len(self.calls) < 4096 and not self.capturing():
            self.calls.append(dict(time=int(time.time() * 1e6), module=type(module).__name__, grad=self.torch.is_grad_enabled(),
                                   inputs=self.columns((args, kwargs), each=True)))

    def capturing(self):
        cuda = self.torch.cuda
        return cuda.is_initialized() and cuda.is_current_stream_capturing()

    def columns(self, call, each=False):
        """Returns, for each tensor by name, its shape and, if it contains lengths, their sum and maximum; if each is set,
        also the lengths themselves."""
        out = {}
        for name, x in tensors_of(self.torch, call):
            one = dict(shape=list(x.shape))
            rows = self.rows(x)
            if rows is not None:
                one.update(sum=sum(rows), most=max(rows))
                if each and len(rows) <= 1024:
                    one["each"] = rows
            while name in out:
                name += "+"
            out[name] = one
        return out

    def rows(self, x):
        """Returns the sample lengths in a tensor of integers: either the tensor lists them, or its rows are padded at
        the end with one value. Returns None if there are none."""
        if x.dtype.is_floating_point or x.dtype.is_complex or x.dim() not in (1, 2) or not 0 < x.numel() <= READABLE:
            return None
        if not x.is_contiguous() or type(x) not in (self.torch.Tensor,) or x.device.type == "meta":
            return None
        x = x.detach().cpu().long()
        if x.dim() == 1:
            return x.tolist() if x.numel() <= 4096 and int(x.min()) >= 0 else None
        if x.shape[1] < 2 or x.shape[0] > 4096:
            return None
        last = x[:, -1]
        pad = int(last.mode().values)
        if int(x.max()) <= 1 or int((last == pad).sum()) < 2:  # a mask, or no padding at all
            pad = 0
        kept = (x != pad).long()
        ends = kept * self.torch.arange(1, x.shape[1] + 1)
        return ends.max(dim=1).values.tolist()

    # -- the data

    def follow_loaders(self):
        data = self.torch.utils.data
        plain = data.DataLoader.__iter__

        def iterate(loader):
            iterator = plain(loader)
            self.loader, self.iterator = loader, iterator
            return iterator
        self.put(data.DataLoader, "__iter__", iterate)
        base = data.dataloader._BaseDataLoaderIter
        following = base.__next__
        note = quietly(self.note_batch)

        def next_(iterator):
            batch = following(iterator)
            if iterator is self.iterator:
                note(batch)
            return batch
        self.put(base, "__next__", next_)
        asking = base._next_index

        def next_index(iterator):
            batch = asking(iterator)
            if isinstance(batch, list):
                vars(iterator).setdefault(ORDER, []).extend(batch)
            return batch
        self.put(base, "_next_index", next_index)

    def note_batch(self, batch):
        if len(self.batches) < 4096:
            self.batches.append(dict(time=int(time.time() * 1e6), inputs=self.columns(((batch,), {}))))

    def look_ahead(self):
        """Returns the data of later steps: single samples if possible, and batches. The run is over, so consuming
        them does no harm."""
        found = dict(order=[], samples=[], groups=[], ahead=[])
        loader = self.loader
        if loader is None:
            return found
        order = quietly(self.next_indices)() or []
        quietly(self.samples)(loader, found, order)
        deadline = time.time() + PATIENCE
        if not order:
            noted = len(self.batches)
            quietly(self.drain)(self.iterator, found["ahead"], deadline)
            del self.batches[noted:]
        elif len(found["order"]) < len(order):
            quietly(self.batches_of)(loader, order, found["ahead"], deadline)
        return found

    def batches_of(self, loader, order, ahead, deadline):
        """Returns the loader's next batches, for when reading single samples takes too long."""
        b = loader.batch_sampler.batch_size
        for at in range(len(self.batches) * b, len(order) - b + 1, b):
            if len(ahead) >= SAMPLES or time.time() > deadline:
                return
            ahead.append(self.columns(((loader.collate_fn([loader.dataset[i] for i in order[at:at + b]]),), {})))

    def drain(self, iterator, ahead, deadline):
        while len(ahead) < 256 and time.time() < deadline:
            try:
                batch = next(iterator)
            except StopIteration:
                return
            ahead.append(self.columns(((batch,), {})))

    def samples(self, loader, found, order):
        """Returns samples from the dataset in batches of one, and some in batches of four, in the run's order from
        its first step on, if that is known."""
        data = loader.dataset
        if not hasattr(data, "__len__") or not hasattr(data, "__getitem__") or loader.collate_fn is None or isinstance(data, self.torch.utils.data.IterableDataset):
            return
        deadline = time.time() + PATIENCE
        indices, seen = order, found["order"]
        if not indices:
            indices, seen = range(0, len(data), max(1, len(data) // SAMPLES)), found["samples"]
        row = []
        for i in indices:
            if time.time() > deadline or len(seen) >= SAMPLES:
                break
            sample = data[i]
            seen.append(self.columns(((loader.collate_fn([sample]),), {})))
            if len(found["groups"]) < 16:
                row.append(sample)
                if len(row) == 4:
                    found["groups"].append(self.columns(((loader.collate_fn(row),), {})))
                    row = []

    def next_indices(self):
        """Returns the run's samples in order, as far as it is known: at most one epoch. The order of a sampler that
        forms batches by its own rules is not used, because it differs at other batch sizes."""
        if type(getattr(self.loader, "batch_sampler", None)).__name__ not in ("BatchSampler", "BatchSamplerShard"):
            return []
        order = vars(self.iterator).get(ORDER, [])
        while 0 < len(order) < SAMPLES:
            try:
                order.extend(next(self.iterator._sampler_iter))
            except StopIteration:
                break
        return order[:SAMPLES]

    def told(self):
        loader = self.loader
        how = {}
        if loader is not None:
            how = dict(batch=getattr(loader, "batch_size", None), drop_last=bool(getattr(loader, "drop_last", False)),
                       workers=getattr(loader, "num_workers", 0), sampler=type(getattr(loader, "batch_sampler", None)).__name__)
            try:
                how["samples"] = len(loader.dataset)
            except Exception:
                pass
        return dict(calls=self.calls, batches=self.batches, loader=how)


class Longest:
    """Puts the longest samples in the dataset into the run's first batch, as far as they can be found in a few
    seconds. A trial that fits then fits the worst batch, not only the first ones."""

    def __init__(self, torch, put):
        self.torch, self.put, self.batch, self.iterator, self.done = torch, put, None, None, False

    def follow(self):
        data = self.torch.utils.data
        plain, base = data.DataLoader.__iter__, data.dataloader._BaseDataLoaderIter
        following = base.__next__
        find = quietly(self.find)

        def iterate(loader):
            iterator = plain(loader)
            if not self.done:
                self.done = True
                self.batch = find(loader)
                self.iterator = iterator
            return iterator

        def next_(iterator):
            if iterator is self.iterator and self.batch is not None:
                first, self.batch = self.batch, None
                following(iterator)  # skip the batch that it replaces
                return first
            return following(iterator)
        self.put(data.DataLoader, "__iter__", iterate)
        self.put(base, "__next__", next_)

    def find(self, loader):
        data, size = loader.dataset, getattr(loader, "batch_size", None)
        if not size or loader.collate_fn is None or not hasattr(data, "__len__") or not hasattr(data, "__getitem__") \
                or isinstance(data, self.torch.utils.data.IterableDataset):
            report.write("longest", looked=0)
            return None
        deadline, every, sizes = time.time() + PATIENCE, max(1, len(data) // SAMPLES), []
        for i in range(0, len(data), every):
            if time.time() > deadline:
                break
            sizes.append((self.elements(data[i], 3), i))
        sizes.sort(reverse=True)
        fields = dict(looked=len(sizes), samples=len(data))
        if not sizes or sizes[0][0] == sizes[-1][0]:
            report.write("longest", alike=True, **fields)
            return None
        batch = loader.collate_fn([data[i] for _, i in (sizes * size)[:size]])
        report.write("longest", shapes=[list(x.shape) for _, x in tensors_of(self.torch, ((batch,), {}))], **fields)
        return batch

    def elements(self, x, depth):
        if isinstance(x, self.torch.Tensor):
            return x.numel()
        if isinstance(x, str):
            return len(x)
        if not depth:
            return 0
        if isinstance(x, dict):
            return sum(self.elements(v, depth - 1) for v in x.values())
        if isinstance(x, (list, tuple)):
            return len(x) if x and isinstance(x[0], (int, float)) else sum(self.elements(v, depth - 1) for v in x)
        return x.size if hasattr(x, "dtype") and hasattr(x, "size") and isinstance(x.size, int) else 0


# ---------------------------------------------------------------- watching torch
class Watch:
    """Watches one process's training loop."""

    def __init__(self, torch, steps, stacks, keep_running, max_entries, needs_gpu, has_gpu, failures=0,
                 measure=False, limit=0, steady=0.0, worst_first=False):
        self.torch, self.wanted, self.stacks = torch, steps, stacks
        self.failures = failures  # snapshots of failed requests to keep, instead of one snapshot of the run
        self.measure, self.limit, self.steady, self.longest_first = measure, limit, steady, worst_first
        self.keep_running, self.max_entries = keep_running, max_entries
        self.needs_gpu, self.has_gpu = needs_gpu and not keep_running, has_gpu
        self.patches = []  # undone by finish
        self.engine = False  # DeepSpeed's engine counts, not its optimizers
        self.reset()

    def reset(self):
        self.counts, self.depth, self.optimizers = {}, {}, {}
        self.steps = self.backwards = self.skipped = self.asked = 0
        self.model = lambda: None
        self.marks, self.clocks, self.ends = [], [], []
        self.shapes = Shapes(self.torch, self.put)
        self.recording = self.finished = self.looked = False
        self.failed = 0
        self.last, self.since, self.spent = None, 0.0, 0.0
        self.limited, self.times, self.host_times, self.calm, self.agreed = set(), [], [], None, 0

    # -- hooking in

    def attach(self):
        torch = self.torch
        report.write("torch", versions=self.versions())
        torch.cuda._lazy_call(quietly(self.cuda_started))  # now, or when CUDA starts
        from torch.optim import optimizer
        optimizer.register_optimizer_step_pre_hook(self.pre_step)
        optimizer.register_optimizer_step_post_hook(self.post_step)
        self.follow_backward()
        self.follow_scaler()
        self.follow_batch()
        if self.longest_first:
            Longest(torch, self.put).follow()
        if not self.keep_running and not self.measure:
            self.shapes.follow_loaders()
        previous = sys.excepthook

        def excepthook(kind, err, trace):
            quietly(self.crashed)(kind, err)
            previous(kind, err, trace)
        sys.excepthook = excepthook
        atexit.register(quietly(self.exiting))

    def versions(self):
        v = {"python": sys.version.split()[0], "torch": str(self.torch.__version__),
             "cuda": self.torch.version.cuda, "hip": getattr(self.torch.version, "hip", None)}
        v.update((n, str(sys.modules[n].__version__)) for n in LIBRARIES
                 if hasattr(sys.modules.get(n), "__version__"))
        return {k: x for k, x in v.items() if x}

    def put(self, owner, name, ours):
        """Replaces an attribute with ours until take_back."""
        plain, own = getattr(owner, name), name in vars(owner)
        ours.__doc__, ours.__wrapped__ = plain.__doc__, plain
        setattr(owner, name, ours)
        self.patches.append((owner, name, ours, plain if own else None))

    def take_back(self):
        for owner, name, ours, plain in self.patches:
            if getattr(owner, name) is not ours:
                continue  # something else has wrapped it since
            if plain is None:
                delattr(owner, name)  # it was inherited
            else:
                setattr(owner, name, plain)
        self.patches = []

    def cuda_started(self):
        """Starts recording, with stacks only for allocations. Frees also happen while an exception
        passes through C++, as at the end of every recomputation in torch.utils.checkpoint, and
        torch 2.11 loses that exception when it collects a stack (pytorch/pytorch#179536). A run that is
        only measured is not recorded, because recording takes time."""
        self.torch._C._cuda_attach_out_of_memory_observer(quietly(self.out_of_memory))
        quietly(self.keep_limit)()
        if self.measure:
            return
        how = dict(enabled="all", context="alloc" if self.stacks else None, stacks="python", max_entries=self.max_entries)
        record = self.torch.cuda.memory._record_memory_history
        try:
            record(skip_actions=self.needless(), **how)
        except TypeError:  # before 2.11
            record(**how)
        self.recording = True

    def keep_limit(self):
        """Lets PyTorch reserve no more than the limit on this process's GPU."""
        if not self.limit:
            return
        cuda = self.torch.cuda
        i = cuda.current_device()
        if i not in self.limited:
            self.limited.add(i)
            cuda.set_per_process_memory_fraction(min(1.0, self.limit / cuda.get_device_properties(i).total_memory), i)

    def needless(self):
        """Returns the actions that need not be recorded. In a single-process run a free is usually
        completed when it is requested, so one entry for both is enough, and recording is the
        probe's main cost. If another CUDA stream still uses the memory, it then counts as
        allocated until that stream is done."""
        return ["free_requested"] if os.environ.get("WORLD_SIZE", "1") == "1" else []

    def follow_backward(self):
        autograd, plain = self.torch.autograd, self.torch.autograd.backward
        begins = quietly(self.backward)

        def backward(*args, **kwargs):
            if begins():
                self.maybe_stop()
            return plain(*args, **kwargs)
        self.put(autograd, "backward", backward)

    def follow_scaler(self):
        home = self.torch.amp if hasattr(self.torch.amp, "GradScaler") else self.torch.cuda.amp
        scaler, plain = home.GradScaler, home.GradScaler.step

        def step(scaler_, optimizer, *args, **kwargs):
            before = self.steps
            out = plain(scaler_, optimizer, *args, **kwargs)
            if self.steps == before and scaler_.is_enabled() and not self.finished:
                self.skipped += 1
            return out
        self.put(scaler, "step", step)

    def follow_batch(self):
        """Records the inputs of the next module with parameters, once."""
        module_class = self.torch.nn.Module
        plain = module_class.__call__
        note = quietly(self.batch)

        def call(module, *args, **kwargs):
            if module_class.__call__ is call and next(module.parameters(), None) is not None:
                module_class.__call__ = plain
                note(module, args, kwargs)
                if not self.keep_running and not self.measure:
                    return self.shapes.first_call(plain, module, args, kwargs)
            return plain(module, *args, **kwargs)
        self.put(module_class, "__call__", call)

    # -- events of the run

    def batch(self, module, args, kwargs):
        tensors = [dict(name=name, shape=list(x.shape), dtype=str(x.dtype)[6:], device=x.device.type)
                   for name, x in tensors_of(self.torch, (args, kwargs))]
        if self.torch.cuda.is_initialized():
            self.keep_limit()  # the program may have chosen another GPU since CUDA started
        if self.model() is None:
            self.model = weakref.ref(module)  # weak, so that it does not keep alive what the user drops
        report.write("batch", module=type(module).__name__, inputs=tensors[:32], autocast=self.autocast(),
                     checkpointing=bool(getattr(module, "is_gradient_checkpointing", False)))

    def autocast(self):
        torch = self.torch
        if not torch.is_autocast_enabled():
            return None
        return str(torch.get_autocast_dtype("cuda") if hasattr(torch, "get_autocast_dtype") else torch.get_autocast_gpu_dtype())[6:]

    def backward(self):
        """Counts a backward pass, and returns whether the run should end here."""
        self.depth.clear()  # a failed step must not hide the next one
        if self.finished:
            return False
        self.backwards += 1
        self.mark("backward")
        return self.ends_without_gpu()

    def ends_without_gpu(self):
        """Ends a run without a GPU when it begins to train: a step on the CPU may take minutes,
        and none of it would be recorded."""
        if self.looked or not self.needs_gpu:
            return False
        self.looked = True
        if self.torch.cuda.is_initialized() or not self.hopeless():
            return False
        self.tell_place()
        self.finish("nogpu")
        return True

    def hopeless(self):
        """Returns whether training cannot use a GPU. If the machine has one that this process does
        not see, the command itself has hidden it, and other processes may see it."""
        v = self.torch.version
        if not (v.cuda or getattr(v, "hip", None)):
            return True
        return not self.has_gpu and not self.available()

    def available(self):
        """Returns torch.cuda.is_available() without starting CUDA, which would break a later fork."""
        name = "PYTORCH_NVML_BASED_CUDA_CHECK"
        before = os.environ.get(name)
        os.environ[name] = "1"
        try:
            return self.torch.cuda.is_available()
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before

    def mark(self, phase):
        self.marks.append((phase, int(time.time() * 1e6)))

    def pre_step(self, optimizer, args, kwargs):
        """A PyTorch hook. It returns nothing, because a result would replace the arguments."""
        if not self.finished and not self.engine:
            quietly(self.step_begins)(optimizer)

    def step_begins(self, optimizer):
        self.depth[id(optimizer)] = self.depth.get(id(optimizer), 0) + 1
        self.mark("optimizer")

    def post_step(self, optimizer, args, kwargs):
        if not self.engine and not (self.finished and self.keep_running):
            quietly(self.step_ended)(optimizer)
            self.maybe_stop()

    def step_ended(self, optimizer):
        key = id(optimizer)
        self.depth[key] = self.depth.get(key, 1) - 1
        if self.depth[key] > 0:
            return  # the step of a subclass calls its parent's
        self.depth.pop(key)
        self.counts[key] = self.counts.get(key, 0) + 1
        self.optimizers[key] = weakref.ref(optimizer)
        self.stepped(max(self.counts.values()), optimizer, min(self.counts.values()))

    def stepped(self, n, optimizer, slowest):
        """Handles a step. n is the largest number of steps of any optimizer, slowest the smallest."""
        if self.finished or self.capturing():
            return
        if n > self.steps:
            self.steps = n
            self.tell_step(optimizer)
        if slowest >= self.wanted or n > self.wanted or self.is_steady():
            self.finish("steps")

    def engine_stepped(self, engine):
        """Handles a step of DeepSpeed's engine."""
        if self.finished:
            return
        if not self.optimizers and hasattr(engine.optimizer, "param_groups"):
            self.optimizers = {0: weakref.ref(engine.optimizer)}
        self.stepped(self.steps + 1, engine.optimizer, self.steps + 1)

    def is_steady(self):
        """Returns whether the run may end here because more steps would show nothing new. All ranks must end at the
        same step: the first one decides, and writes it to a file for the others."""
        if not self.steady or self.finished:
            return False
        dist = self.torch.distributed
        world = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
        if world < 2:
            return self.shows_nothing_new()
        path = os.path.join(HOME, "last_step")
        if dist.get_rank() == 0 and not self.agreed and self.shows_nothing_new():
            with open(path + ".part", "w") as f:
                f.write(str(self.steps + AHEAD))
            os.replace(path + ".part", path)
        if not self.agreed and os.path.exists(path):
            with open(path) as f:
                self.agreed = int(f.read())
        return bool(self.agreed) and self.steps >= self.agreed

    def shows_nothing_new(self):
        """Returns whether the mean step time is known to within the requested fraction, and the memory peak has been
        the same for some steps."""
        times = self.known_times()[WARM_UP:]
        n = len(times)
        if n < FEW:
            return False
        mean = sum(times) / n
        error = (sum((t - mean) ** 2 for t in times) / (n - 1) / n) ** 0.5
        if mean <= 0 or SURE * error > self.steady * mean:
            self.calm = None
            return False
        peak = self.memory()["peak_reserved"] if self.torch.cuda.is_initialized() else 0
        if self.calm is None or self.calm[1] != peak:
            self.calm = (self.steps, peak)
        return self.steps - self.calm[0] >= 2

    def known_times(self):
        """Returns the times of the steps that the GPU has completed, without waiting for it."""
        if not self.torch.cuda.is_initialized():
            return self.host_times
        while len(self.times) + 1 < len(self.clocks) and self.clocks[len(self.times) + 1].query():
            i = len(self.times)
            self.times.append(self.clocks[i].elapsed_time(self.clocks[i + 1]) / 1e3)
        return self.times

    def capturing(self):
        """Returns whether a CUDA graph is being captured, during which the GPU must not be synchronized."""
        return self.torch.cuda.is_initialized() and self.torch.cuda.is_current_stream_capturing()

    def tell_step(self, optimizer):
        now, on_gpu = time.perf_counter(), self.torch.cuda.is_initialized()
        fields = dict(n=self.steps, optimizer=type(optimizer).__name__, backwards=self.backwards, skipped=self.skipped)
        if self.last is not None:
            fields["seconds"] = now - self.last
            self.host_times.append(now - self.last)
        self.mark("end")
        self.ends.append(self.marks[-1][1])
        if on_gpu and self.steps <= CLOCKS:
            clock = self.torch.cuda.Event(enable_timing=True)
            clock.record()
            self.clocks.append(clock)
        in_full = self.affordable(now)
        if in_full and on_gpu:
            fields.update(self.memory())
        if self.steps == 1:
            self.tell_place()
        (report.write if in_full else report.hold)("step", marks=self.marks, **fields)
        self.marks, self.backwards = [], 0
        self.follow_batch_again()
        self.last = time.perf_counter()
        self.spent += self.last - now

    def affordable(self, now):
        """Returns whether this step may be reported at once, with the memory state."""
        if self.steps <= ALWAYS:
            self.since, self.spent = now, 0.0
            return True
        return self.spent <= SHARE * (now - self.since)

    def follow_batch_again(self):
        """Records inputs in only two steps, because watching calls patches every module class."""
        if not self.finished and self.steps < min(self.wanted, 2):
            self.follow_batch()

    def tell_place(self):
        """Reports the card and the rank, which are certain only once training has started."""
        torch = self.torch
        dist = torch.distributed
        if dist.is_available() and dist.is_initialized():
            report.write("rank", rank=dist.get_rank(), world_size=dist.get_world_size(), backend=str(dist.get_backend()))
        report.write("torch", versions=self.versions())
        if not torch.cuda.is_initialized():
            report.write("nogpu", available=self.available())
            return
        i = torch.cuda.current_device()
        p = torch.cuda.get_device_properties(i)
        free, total = torch.cuda.mem_get_info(i)
        report.write("gpu", index=i, name=p.name, total=total, free=free, capability=p.major * 10 + p.minor, recording=self.recording)

    def memory(self):
        torch = self.torch
        s = torch.cuda.memory_stats_as_nested_dict(torch.cuda.current_device())
        a, r = s["allocated_bytes"]["all"], s["reserved_bytes"]["all"]
        return dict(allocated=a["current"], peak_allocated=a["peak"], reserved=r["current"], peak_reserved=r["peak"],
                    retries=s.get("num_alloc_retries", 0))

    def out_of_memory(self, device, alloc, device_total, device_free):
        if not self.finished:
            report.write("oom", device=device, asked=alloc, total=device_total, free=device_free, steps=self.steps, **self.memory())
            if self.failures and self.recording and self.failed < MOST_FAILED:
                quietly(self.keep_failure)()

    def keep_failure(self):
        """Writes a snapshot of a failed request, overwriting the oldest one kept."""
        name = "%d-oom%d.pickle" % (report.pid, self.failed % self.failures)
        self.failed += 1
        self.write_snapshot(name, self.torch.cuda.memory._snapshot())
        report.write("kept", file=name, number=self.failed)

    def crashed(self, kind, err):
        if not issubclass(kind, KeyboardInterrupt):
            report.write("exception", type=kind.__name__, what=str(err)[:500], steps=self.steps)

    def exiting(self):
        if os.getpid() == report.pid and not self.finished:
            self.finish("exit")

    # -- the end

    def finish(self, why):
        """Writes the recording and removes all hooks."""
        self.finished = True
        for part in (self.tell_times, self.tell_peaks, self.tell_state, self.dump):
            quietly(part)()
        report.write("end", why=why, steps=self.steps, skipped=self.skipped)
        quietly(self.take_back)()
        if why != "exit" and not self.keep_running:
            quietly(self.meet)()

    def tell_times(self):
        if self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize()
            pairs = zip(self.clocks, self.clocks[1:])
            report.write("times", seconds=[a.elapsed_time(b) / 1e3 for a, b in pairs])
        self.clocks = []

    def tell_peaks(self):
        if self.torch.cuda.is_initialized():
            report.write("peaks", n=self.steps, **self.memory())

    def tell_state(self):
        """Returns the bytes that stay allocated between steps: parameters, gradients, optimizer states."""
        seen, dtypes, total = set(), {}, dict(parameters=0, gradients=0, optimizer=0, buffers=0)
        counts = dict(params=0, trainable=0)

        def add(kind, t):
            t = getattr(t, "_local_tensor", t)
            s = t.untyped_storage()
            if (s.data_ptr(), s.nbytes()) not in seen and s.nbytes():
                seen.add((s.data_ptr(), s.nbytes()))
                if t.device.type != "cpu" or not self.torch.cuda.is_initialized():
                    total[kind] += s.nbytes()
                return True
        model = self.model()
        optimizers = [o for o in (ref() for ref in self.optimizers.values()) if o is not None]
        params = [p for o in optimizers for g in o.param_groups for p in g["params"]]
        params += list(model.parameters()) if model is not None else []
        for p in params:
            if add("parameters", p.data):
                counts["params"] += p.numel()
                counts["trainable"] += p.numel() if p.requires_grad else 0
                dtypes[str(p.dtype)[6:]] = dtypes.get(str(p.dtype)[6:], 0) + p.numel()
        for p in params:
            if p.grad is not None:
                add("gradients", p.grad)
        for o in optimizers:
            for state in list(o.state.values()):
                for v in state.values() if isinstance(state, dict) else ():
                    if isinstance(v, self.torch.Tensor):
                        add("optimizer", v)
        for b in model.buffers() if model is not None else ():
            add("buffers", b)
        report.write("state", dtypes=dtypes, **dict(total, **counts))

    def dump(self):
        torch = self.torch
        if not (self.recording and torch.cuda.is_initialized()) or self.failures:
            return
        name = "%s%d.pickle" % (NODE, report.pid)
        snapshot = torch.cuda.memory._snapshot()
        torch.cuda.memory._record_memory_history(enabled=None)
        if not self.keep_running:
            quietly(self.add_shapes)(snapshot)
        self.write_snapshot(name, snapshot)
        report.write("snapshot", file=name, entries=[len(t) for t in snapshot.get("device_traces", ())], **self.memory())

    def write_snapshot(self, name, snapshot):
        part = os.path.join(HOME, name + ".part")
        with open(part, "wb") as f:
            pickle.dump(snapshot, f, protocol=4)
        os.replace(part, os.path.join(HOME, name))

    def add_shapes(self, snapshot):
        """Adds the model's inputs to the snapshot, as JSON under a separate key."""
        steps = dict(self.shapes.told(), ends=self.ends, ahead=self.shapes.look_ahead())
        snapshot["snug"] = json.dumps(steps, separators=(",", ":"), default=str)

    def meet(self):
        """Waits for the other ranks, which would fail if this one ended too early."""
        dist = self.torch.distributed
        world = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
        world = min(world, int(os.environ.get("LOCAL_WORLD_SIZE") or world))
        if world < 2:
            return
        open(os.path.join(HOME, "%s%d.here" % (NODE, report.pid)), "w").close()
        deadline = time.time() + 15
        while time.time() < deadline and sum(n.endswith(".here") for n in os.listdir(HOME)) < world:
            time.sleep(0.05)

    def maybe_stop(self):
        if not self.finished or self.keep_running:
            return
        self.asked += 1
        if self.asked > 2 or threading.current_thread() is not threading.main_thread():
            for f in (sys.stdout, sys.stderr):
                try:
                    f.flush()
                except Exception:
                    pass
            os._exit(0)  # SystemExit may be caught, or end only a thread
        raise SystemExit(0)


# ---------------------------------------------------------------- watching a whole run
class Live:
    """Reports every step of a run to snug watch, over a socket next to this file. The run is only watched:
    it is neither recorded nor ended. A report is one datagram, which is dropped if it is not read."""

    SHARE = 0.005   # fraction of the run's time that reports may take, after the first steps
    FIRST = 64      # first steps, which are always reported
    ROOTS = 8       # most modules whose calls are watched

    def __init__(self, torch, wandb=False):
        self.torch, self.wandb = torch, wandb
        self.patches, self.roots = [], []
        self.engine = False  # DeepSpeed's engine counts, not its optimizers
        self.reset()

    def reset(self):
        """Starts over, in a new process or after a fork."""
        import socket
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.counts, self.depth = {}, {}
        self.steps, self.shape, self.waited, self.inside = 0, None, 0.0, 0
        self.full = False  # the last datagrams have not been read
        self.elements = -1  # of the largest batch since the last report, which caused the peaks; self.shape is its shape
        self.spent, self.since, self.logged = 0.0, None, 0.0
        self.kept, self.started = {}, False
        self.highest = {}  # peaks since the last line for Weights & Biases

    put, take_back = Watch.put, Watch.take_back

    def send(self, kind, **fields):
        text = json.dumps(dict(kind=kind, pid=os.getpid(), **fields)).encode()
        for _ in range(1 if self.full else 10):
            try:
                self.socket.sendto(text, os.path.join(HOME, "watch.sock"))
                self.full = False
                return
            except BlockingIOError:  # the queue of datagrams is short; snug may be about to read them
                time.sleep(0.002)
                self.spent += 0.002
            except OSError:
                return  # snug is gone; the run continues
        self.full = True

    # -- hooking in

    def attach(self):
        torch = self.torch
        report.write("torch", versions=dict(torch=str(torch.__version__)))
        torch.cuda._lazy_call(quietly(self.cuda_started))
        from torch.optim import optimizer
        optimizer.register_optimizer_step_pre_hook(quietly(self.step_begins))
        optimizer.register_optimizer_step_post_hook(quietly(self.step_ended))
        self.find_root()
        self.follow_eval()
        self.follow_loader()
        self.follow_limit()
        atexit.register(quietly(lambda: self.send("end")))

    def cuda_started(self):
        torch = self.torch
        torch._C._cuda_attach_out_of_memory_observer(quietly(self.out_of_memory))
        self.follow_peaks()

    def begin(self):
        """Reports the card, once this process is known to use it."""
        torch = self.torch
        self.started = True
        device = torch.cuda.current_device()
        total = torch.cuda.get_device_properties(device).total_memory
        self.send("start", total=total, **self.rank())
        ask = getattr(torch.cuda, "get_per_process_memory_fraction", None)
        share = ask(device) if ask else 1.0
        if share < 1:
            self.send("limit", limit=int(share * total))

    def rank(self):
        """Returns this process's rank in a run on several GPUs, from PyTorch or else from the launcher."""
        dist = self.torch.distributed
        if dist.is_available() and dist.is_initialized():
            rank, world = dist.get_rank(), dist.get_world_size()
        else:
            rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        return dict(rank=rank, world=world) if world > 1 else {}

    def follow_limit(self):
        plain = self.torch.cuda.memory.set_per_process_memory_fraction

        def set_fraction(fraction, device=None):
            out = plain(fraction, device)
            quietly(self.tell_limit)(fraction, device)
            return out
        for home in (self.torch.cuda.memory, self.torch.cuda):
            self.put(home, "set_per_process_memory_fraction", set_fraction)

    def tell_limit(self, fraction, device):
        properties = self.torch.cuda.get_device_properties(self.torch.cuda.current_device() if device is None else device)
        if not self.started:
            self.begin()
        self.send("limit", limit=int(fraction * properties.total_memory))

    def find_root(self):
        """Watches the calls of the next module with parameters, and from then on only its own, so that other modules
        are as fast as before."""
        module_class = self.torch.nn.Module
        plain = module_class.__call__
        if getattr(plain, "_snug", False):
            return

        def call(module, *args, **kwargs):
            if module_class.__call__ is call and next(module.parameters(), None) is not None:
                module_class.__call__ = plain
                quietly(self.watch_root)(module)
            return plain(module, *args, **kwargs)
        call._snug = True
        self.put(module_class, "__call__", call)

    def watch_root(self, module):
        known = any(ref() is module for ref in self.roots)
        compiled = getattr(module, "_compiled_call_impl", None) is not None  # a hook would compile it again
        if known or compiled or len(self.roots) >= self.ROOTS:
            return
        self.roots.append(weakref.ref(module))
        module.register_forward_pre_hook(quietly(self.called), with_kwargs=True)
        module.register_forward_hook(quietly(self.returned))

    def follow_eval(self):
        """Looks for a root again when a module switches to evaluation mode: it may not be the one that trains."""
        module_class = self.torch.nn.Module
        plain = module_class.eval
        look = quietly(self.find_root)

        def eval_(module):
            if len(self.roots) < self.ROOTS:
                look()
            return plain(module)
        self.put(module_class, "eval", eval_)

    def follow_loader(self):
        base = self.torch.utils.data.dataloader._BaseDataLoaderIter
        following = base.__next__

        def next_(iterator):
            began = time.perf_counter()
            try:
                return following(iterator)
            finally:
                self.waited += time.perf_counter() - began
        self.put(base, "__next__", next_)

    def follow_peaks(self):
        """Shows the program the peaks since its own last reset, although the probe resets them with every step."""
        memory, cuda = self.torch.cuda.memory, self.torch.cuda
        self.stats, self.reset_peaks = memory.memory_stats_as_nested_dict, memory.reset_peak_memory_stats

        def nested(device=None):
            out = self.stats(device)
            quietly(self.merge)(out)
            return out

        def reset_peaks(device=None):
            self.kept = {}
            return self.reset_peaks(device)
        for home in (memory, cuda):
            self.put(home, "memory_stats_as_nested_dict", nested)
            self.put(home, "reset_peak_memory_stats", reset_peaks)

    def merge(self, stats):
        for path, counter in self.counters(stats):
            counter["peak"] = max(counter["peak"], self.kept.get(path, 0))

    # -- events of the run

    def called(self, module, args, kwargs):
        self.inside += 1
        if self.inside > 1:
            return
        for _, x in tensors_of(self.torch, (args, kwargs)):
            if x.dim() > 0:
                if x.numel() > self.elements:
                    self.shape, self.elements = list(x.shape), x.numel()
                return

    def returned(self, module, args, output):
        self.inside -= 1
        if self.inside <= 0 and not module.training and not self.torch.is_grad_enabled():
            self.tell("eval")

    def step_begins(self, optimizer, args, kwargs):
        self.depth[id(optimizer)] = self.depth.get(id(optimizer), 0) + 1

    def step_ended(self, optimizer, args, kwargs):
        key = id(optimizer)
        self.depth[key] = self.depth.get(key, 1) - 1
        if self.depth[key] > 0:
            return  # the step of a subclass calls its parent's
        self.depth.pop(key)
        self.counts[key] = self.counts.get(key, 0) + 1
        if not self.engine:
            self.stepped(max(self.counts.values()))

    def stepped(self, n):
        self.inside = 0  # a failed call must not hide the next one
        if n > self.steps:
            self.steps = n
            self.tell("train")

    def engine_stepped(self, engine):
        """Handles a step of DeepSpeed's engine."""
        self.stepped(self.steps + 1)

    def maybe_stop(self):
        """Does nothing: a watched run continues."""

    def tell(self, phase):
        torch = self.torch
        if not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
            return
        began, worked = time.perf_counter(), time.thread_time()
        if self.since is None or self.steps <= self.FIRST:
            self.since, self.spent = began, 0.0
        elif self.spent > self.SHARE * (began - self.since):
            return
        if not self.started:
            self.begin()
        stats = self.stats()
        a, r = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        fields = dict(allocated=a["current"], reserved=r["current"], peak_allocated=a["peak"], peak_reserved=r["peak"])
        self.send("step", step=self.steps, phase=phase, shape=self.shape, retries=stats.get("num_alloc_retries", 0), wait=round(self.waited, 6), **fields)
        self.keep_peaks(stats)
        self.reset_peaks()
        self.waited, self.elements = 0.0, -1
        if self.wandb:
            quietly(self.log)(phase, fields, began)
        self.spent += time.thread_time() - worked  # not the time in which a busy machine runs something else

    def keep_peaks(self, stats):
        for path, counter in self.counters(stats):
            self.kept[path] = max(self.kept.get(path, 0), counter["peak"])

    def counters(self, stats):
        """Yields the counters that have a peak. Most are split by pool; those for oversize blocks are not."""
        for name, value in stats.items():
            if isinstance(value, dict) and "peak" in value:
                yield (name,), value
            elif isinstance(value, dict):
                for pool, counter in value.items():
                    yield (name, pool), counter

    def log(self, phase, fields, now):
        """Adds the numbers to the next line that the program itself logs to Weights & Biases, once a second. Peaks are the
        highest since the last such line; peaks of evaluations have separate names."""
        prefix = "" if phase == "train" else "evaluation_"
        for name in ("peak_allocated", "peak_reserved"):
            self.highest[prefix + name] = max(self.highest.get(prefix + name, 0), fields[name])
        module = sys.modules.get("wandb")
        if phase != "train" or module is None or getattr(module, "run", None) is None or now - self.logged < 1:
            return
        line, self.logged, self.highest = dict(fields, **self.highest), now, {}
        module.log({"snug/%s_bytes" % name: n for name, n in line.items()}, commit=False)

    def out_of_memory(self, device, alloc, device_total, device_free):
        # With a cap, the total is the cap, but the free memory is the card's.
        self.send("oom", message="CUDA out of memory: tried to allocate %d bytes; PyTorch may reserve %d, and %d are free on the card" % (alloc, device_total, device_free))


# ---------------------------------------------------------------- DeepSpeed
def follow_deepspeed(module):
    """Counts the engine's steps, because its optimizers step once per parameter group."""
    engine = module.DeepSpeedEngine
    plain = engine._take_model_step
    quiet = quietly(lambda e: watch.engine_stepped(e))

    def take(self, *args, **kwargs):
        if watch is not None:
            watch.engine = True
        out = plain(self, *args, **kwargs)
        if watch is not None:
            quiet(self)
            watch.maybe_stop()
        return out
    engine._take_model_step = take


# ---------------------------------------------------------------- start
report = Report()
watch = None


def follow_torch(torch):
    global watch
    with open(os.path.join(HOME, "probe.json")) as f:
        settings = json.load(f)
    live = settings.pop("live", None)
    watch = Live(torch, **live) if live is not None else Watch(torch, **settings)
    watch.attach()


def after_fork():
    report.after_fork()
    if watch is not None:
        watch.reset()


def next_sitecustomize():
    """Loads the sitecustomize that this one hides, if any."""
    sys.modules["_snug_probe"] = sys.modules[__name__]
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HOME]
    importlib.invalidate_caches()
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def begin():
    import importlib.util  # noqa: F401, for next_sitecustomize
    start()
    sys.meta_path.insert(0, Finder({"torch": quietly(follow_torch),
                                    "deepspeed.runtime.engine": quietly(follow_deepspeed)}))
    os.register_at_fork(after_in_child=quietly(after_fork))


if os.path.exists(os.path.join(HOME, "probe.json")):
    quietly(begin)()
    next_sitecustomize()
