"""Records the ops around Liger's kernels, without a GPU and without Triton's compiler: a step on
fake tensors, as peft_ops.py does for PEFT, with kernels that do nothing when they are launched.
All memory is allocated in Python around them. Written for TestLiger in internal/simulate.

usage: liger_ops.py OUTDIR [WORD]     needs liger-kernel 0.8.5 and triton 3.6.0; line format as in peft_ops.py

When Liger queries a CUDA device, the answers are an H200's, even if the tensors are on the CPU, the
only device that can run backward on fake tensors: Liger's source is used with one word changed."""
import contextlib, importlib, inspect, itertools, os, sys, types, warnings

warnings.simplefilter("ignore")
import peft, torch, transformers, triton
from torch._subclasses.fake_tensor import FakeTensorMode

import liger_kernel.transformers
from liger_kernel.ops import fused_linear_cross_entropy, geglu, rms_norm, swiglu
import liger_kernel.transformers.rms_norm as norms
import peft_ops, weights_ops
from peft_ops import Log, SMALL, forward, recast, save

SMALL = dict(SMALL, num_hidden_layers=2)
HEADS = dict(SMALL, head_dim=64)
MOE = dict(SMALL, moe_intermediate_size=256, num_experts=8, num_local_experts=8, num_experts_per_tok=2)
MODELS = {
    "llama": SMALL,
    "mistral": SMALL,
    "qwen2": SMALL,
    "qwen3": HEADS,
    "gemma2": dict(HEADS, query_pre_attn_scalar=64),
    "phi3": dict(HEADS, pad_token_id=0),
    "mixtral": MOE,
    "qwen3_moe": dict(MOE, head_dim=64),
}
ALL = ["rope", "norm", "mlp"]
TYPES = [("fp32", ""), ("amp-bf16", ""), ("bf16", ""), ("amp-bf16", "bf16")]  # precision, and the weights' type under autocast
LORA = dict(r=8, targets=["q_proj", "v_proj"], peft=True)


TILES = 8 * 2  # of 64 rows, for 8 experts with 75 rows each


class Answers(Log):
    """the log, which supplies the numbers that Liger reads back"""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        known = {"aten._local_scalar_dense.default": 1, "aten.equal.default": True}
        if str(op) == "aten._local_scalar_dense.default" and args[0].dtype == torch.int32:
            known[str(op)] = TILES
        if str(op) in known:
            self.lines.append("op %s" % op)
            return known[str(op)]
        if str(op) == "aten.addmm.dtype_out":  # not supported by fake tensors; it adds in place
            self.lines.append("op %s" % op)
            return kwargs["out"]
        return super().__torch_dispatch__(op, types, args, kwargs)


ASKING = [(rms_norm, "rms_norm_backward"), (fused_linear_cross_entropy, "_can_use_mm_out"), (fused_linear_cross_entropy, "fused_linear_cross_entropy_forward")]
TEXTS = [inspect.getsource(getattr(module, name)) for module, name in ASKING]


def taken_for_cuda(device):
    """makes functions that query a CUDA device find one"""
    for (module, _), text in zip(ASKING, TEXTS):
        text = text.replace('"cuda"', '"%s"' % device).replace("is_autocast_enabled()", 'is_autocast_enabled("%s")' % device)
        exec(compile(text, module.__file__, "exec"), module.__dict__)


def stub():
    """makes launches do nothing, and the card an H200"""
    triton.runtime.jit.KernelInterface.__getitem__ = lambda self, grid: lambda *args, **kwargs: None
    torch.cuda.get_device_properties = lambda *args: types.SimpleNamespace(multi_processor_count=132)
    for module in (rms_norm, swiglu, geglu):
        module.device_context = lambda device: contextlib.nullcontext()


def named(log):
    """logs a line where a norm begins"""
    apply = norms.LigerRMSNormFunction.apply

    def noted(*args):
        log.lines.append("op liger.rms_norm")
        return apply(*args)

    return types.SimpleNamespace(apply=noted)


def build(c):
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=c["attn"])
    model.config.use_cache = False
    if c["precision"] == "bf16" or c.get("weights") == "bf16":
        recast(model, torch.bfloat16)
    if "lora" in c:
        lora = peft.LoraConfig(r=c["lora"]["r"], lora_alpha=16, target_modules=c["lora"]["targets"], task_type="CAUSAL_LM")
        model = peft.get_peft_model(model, lora)
    gate = "geglu" if c["model_type"].startswith("gemma") else "swiglu"
    parts = {"rope": "rope" in c["liger"], "rms_norm": "norm" in c["liger"], gate: "mlp" in c["liger"],
             "fused_linear_cross_entropy": c["loss"] == "liger", "cross_entropy": False}
    base = model.get_base_model() if "lora" in c else model
    liger_kernel.transformers._apply_liger_kernel_to_instance(model=base, **parts)
    if c.get("checkpointing"):
        base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False, "preserve_rng_state": False})
    return model.train()


def record(c, path):
    log, device = Answers(), c["device"]
    function, norms.LigerRMSNormFunction = norms.LigerRMSNormFunction, named(log)
    restore = unpatched(c["model_type"])
    taken_for_cuda(device)
    torch.cuda.get_device_capability = lambda *args: divmod(c.get("capability", 90), 10)
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
    norms.LigerRMSNormFunction = function
    restore()
    params = sum(p.numel() for p in model.parameters())
    save(c, path, log, params, sum(p.numel() for p in model.parameters() if p.requires_grad))


def unpatched(model_type):
    """returns a function that undoes what Liger replaces in a family's module"""
    module = importlib.import_module("transformers.models.%s.modeling_%s" % (model_type, model_type))
    kept = dict(module.__dict__)
    return lambda: module.__dict__.update(kept)


def cases():
    for model, device, (precision, weights) in itertools.product(MODELS, ("cpu", "cuda"), TYPES):
        c = dict(model="hf", model_type=model, head="causal", config=MODELS[model], batch=3, seq=100, attn="eager", mask=False,
                 precision=precision, optimizer="adamw", device=device, liger=ALL, loss="liger")
        if weights:
            c["weights"] = weights
        name = "-".join([model, device, precision] + ([weights] if weights else []))
        yield dict(c, id=name)
        if model == "llama":
            yield dict(c, lora=LORA, id=name + "-lora")
            yield dict(c, loss="model", id=name + "-layers")
            for part in ALL:
                yield dict(c, liger=[part], loss="model", id=name + "-" + part)
            yield dict(c, liger=[], id=name + "-loss")
            if device == "cuda":  # Turing, where no product accumulates into another
                yield dict(c, capability=75, id=name + "-turing")
        if device == "cpu" and model in ("llama", "qwen3", "phi3", "gemma2"):
            yield dict(c, checkpointing=True, id=name + "-checkpointing")
        if model in ("llama", "qwen2"):
            yield dict(c, config=dict(c["config"], tie_word_embeddings=True), id=name + "-tied")


if __name__ == "__main__":
    torch.nn.Module.to = lambda self, *args, **kwargs: self  # everything is already on its device
    peft_ops.BaseTunerLayer._move_adapter_to_device_of_base_layer = peft_ops.to_base
    os.makedirs(sys.argv[1], exist_ok=True)
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    stub()
    kernels = torch.library.Library("aten", "IMPL", "AutocastCPU")
    kernels.impl("cross_entropy_loss", torch.library.fallthrough_kernel)
    for name in weights_ops.FLOAT32:
        kernels.impl(name, weights_ops.like_cuda(name))
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[1], c["id"] + ".txt.gz"))
