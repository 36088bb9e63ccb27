"""Records the ops of PEFT's LoRA, without a GPU: a step on fake tensors, which have a shape, a type
and a device but no values. Written for internal/simulate/peft_test.go.

usage: peft_ops.py OUTDIR [WORD]      only cases with WORD in their names; line format, as in opslog.py:
  # phase
  op aten.mm.default(f32[8,4], f32[4,2]) -> f32[8,2]
    + 1024  #7      a result with its own memory
    - #7            its memory is freed

On "cuda" only the forward pass can be recorded this way: autograd's engine queries the driver for
its devices. Forward and backward are recorded on "cpu", where kernels differ but the graph does
not; with relu and without dropout, both devices dispatch the same ops. An op's temporary memory
is not seen."""
import copy, gzip, itertools, json, os, sys, warnings, weakref

warnings.simplefilter("ignore")
import peft, torch, transformers
from peft.tuners.tuners_utils import BaseTunerLayer
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

SHORT = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64", torch.bool: "b8"}
QUIET = {"embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0, "activation_function": "relu"}
SMALL = {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 1000}
MODELS = {  # config, some targets and all of them
    "gpt2": (dict(QUIET, n_layer=2), ["c_attn"], ["c_attn", "c_proj", "c_fc"]),
    "llama": (dict(SMALL, num_hidden_layers=2), ["q_proj", "v_proj"], ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
}
SAVED = {"gpt2": ["lm_head"], "llama": ["embed_tokens", "lm_head"]}  # modules_to_save; GPT-2's shares its weight with the embedding
TYPES = [("fp32", ""), ("amp-bf16", ""), ("bf16", ""), ("amp-bf16", "bf16")]  # precision, and the frozen weights' type under autocast


def show(x):
    if isinstance(x, torch.Tensor):
        return SHORT.get(x.dtype, str(x.dtype)) + str(list(x.shape)).replace(" ", "")
    if isinstance(x, (list, tuple)):
        return "[%s]" % ", ".join(show(i) for i in x[:4])
    return repr(x)[:40]


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.lines, self.known, self.count = [], {}, 0

    def note(self, text):
        self.lines.append("# " + text)

    def own(self, t):
        storage = t.untyped_storage()
        key = storage._cdata
        if key in self.known:
            return
        self.count += 1
        n = self.known[key] = self.count
        self.lines.append("    + %d  #%d" % (storage.nbytes(), n))

        def gone():
            self.lines.append("    - #%d" % n)
            self.known.pop(key, None)

        weakref.finalize(storage, gone)

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if "prim.device" in str(op):
            return op(*args, **(kwargs or {}))
        at = len(self.lines)
        self.lines.append("op %s(%s)" % (op, ", ".join(show(a) for a in args)))
        out = op(*args, **(kwargs or {}))
        self.lines[at] += " -> " + show(out)
        for t in tree_iter(out):
            if isinstance(t, torch.Tensor):
                if "lift_fresh" not in str(op):  # a Python number, on the host
                    self.own(t)
        return out


def recast(module, dtype):
    """module.to(dtype), which does not work on fake parameters; tied ones stay tied"""
    done = {}
    for m in module.modules():
        for name, p in list(m._parameters.items()):
            if p is not None and p.dtype != dtype:
                if p not in done:
                    done[p] = torch.nn.Parameter(p.detach().to(dtype), requires_grad=p.requires_grad)
                m._parameters[name] = done[p]


def to_base(self, adapter, device=None):
    """returns the method of this name, implemented with recast"""
    for part in (self.lora_A, self.lora_B):
        recast(part[adapter], self.get_base_layer().weight.dtype)


def twin(x, memo=None, deepcopy=copy.deepcopy):
    """copy.deepcopy, which does not work on fake parameters, for a layer"""
    if not isinstance(x, torch.nn.Module):
        return deepcopy(x, memo)
    out = copy.copy(x)
    out._parameters = {n: p if p is None else torch.nn.Parameter(p.detach().clone()) for n, p in x._parameters.items()}
    return out


def build(c):
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=c["attn"])
    model.config.use_cache = False
    if c["precision"] == "bf16" or c["lora"].get("base") == "bf16":
        recast(model, torch.bfloat16)
    lora = peft.LoraConfig(r=c["lora"]["r"], lora_alpha=16, target_modules=c["lora"]["targets"], modules_to_save=c["lora"].get("save"),
                           use_dora=c["lora"].get("dora", False), lora_dropout=c["lora"].get("dropout", 0), task_type="CAUSAL_LM")
    return peft.get_peft_model(model, lora, autocast_adapter_dtype=c["lora"]["peft"]).train()


def forward(model, batch, device, amp):
    """torch.autocast would turn itself off without a GPU"""
    torch.set_autocast_enabled(device, amp)
    torch.set_autocast_dtype(device, torch.bfloat16)
    torch.autocast_increment_nesting()
    loss = model(**batch).loss
    if torch.autocast_decrement_nesting() == 0:
        torch.clear_autocast_cache()
    torch.set_autocast_enabled(device, False)
    return loss


def record(c, path):
    log, device = Log(), c["device"]
    with FakeTensorMode(), torch.device(device):
        model = build(c)
        for t in list(model.parameters()) + list(model.buffers()):
            log.known[t.untyped_storage()._cdata] = 0
        ids = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
        batch = dict(input_ids=ids, labels=ids.clone())
        with log:
            log.note("forward")
            loss = forward(model, batch, device, c["precision"] == "amp-bf16")
            if device == "cpu":
                log.note("backward")
                loss.backward()
            log.note("end")
    trained, params = model.get_nb_trainable_parameters()
    save(c, path, log, params, trained)


def save(c, path, log, params, trained):
    versions = "torch %s, transformers %s, peft %s" % (torch.__version__, transformers.__version__, peft.__version__)
    with gzip.GzipFile(path, "w", mtime=0) as f:
        text = "# %s\n# %s; %d parameters, %d trained\n" % (json.dumps(c), versions, params, trained)
        f.write((text + "\n".join(log.lines) + "\n").encode())
    print(os.path.basename(path), len(log.lines))


def cases():
    for model, device, (precision, base), upcast in itertools.product(MODELS, ("cpu", "cuda"), TYPES, (True, False)):
        config, some, every = MODELS[model]
        for name, targets in (("some", some), ("all", every)):
            if not upcast and precision != "bf16":
                continue
            if base and device == "cpu" and model == "gpt2":  # autocast casts layer_norm to float32 only on a GPU
                continue
            c = dict(model="hf", model_type=model, head="causal", config=config, batch=3, seq=100, attn="eager", mask=False,
                     precision=precision, optimizer="adamw", device=device, lora=dict(r=8, targets=targets, peft=upcast))
            if base:
                c["lora"]["base"] = base
            c["id"] = "-".join([model, device, precision, name] + ([] if upcast else ["low"]) + (["frozen", base] if base else []))
            yield c
            if name == "some" and upcast:
                yield dict(c, lora=dict(c["lora"], save=SAVED[model]), id=c["id"] + "-saved")
            if upcast:
                yield dict(c, lora=dict(c["lora"], dora=True), id=c["id"] + "-dora")
            # Dropout on a GPU is one kernel; PEFT turns a Conv1D's float32 weight into a Parameter there, which is not simulated.
            if upcast and device == "cuda" and not (model == "gpt2" and precision in ("fp32", "amp-bf16") and not base):
                yield dict(c, lora=dict(c["lora"], dora=True, dropout=0.1), id=c["id"] + "-dora-dropout")


if __name__ == "__main__":
    BaseTunerLayer._move_adapter_to_device_of_base_layer = to_base
    torch.nn.Module.to = lambda self, *args, **kwargs: self  # everything is already on its device
    copy.deepcopy = twin
    os.makedirs(sys.argv[1], exist_ok=True)
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[1], c["id"] + ".txt.gz"))
