"""Records the ops of bitsandbytes around 4-bit weights, and of PEFT around those, without a GPU: a
step on real tensors on the CPU. Written for TestQLoRA in internal/simulate.

usage: qlora_ops.py OUTDIR [WORD]     needs bitsandbytes 0.50.2; line format as in peft_ops.py
With an older bitsandbytes, 0.49.2, it records the path that dequantizes every weight, without changes.

The product with a quantized weight is bitsandbytes' own function for CUDA, with kernels that do nothing
when they are launched; all memory is allocated in Python around them. It is called in place of the op,
so that its allocations are seen. Which of its two paths it takes depends on the case's card, by SMs and
compute capability. Everything else (quantizing, casting, adapters) is the libraries' own code."""
import itertools, os, sys, warnings

warnings.simplefilter("ignore")
import bitsandbytes, peft, torch, transformers
from peft_ops import Log, SMALL, forward, recast, save
from transformers.integrations.bitsandbytes import replace_with_bnb_linear
from transformers.quantizers.base import HfQuantizer
from weights_ops import FLOAT32, like_cuda

SMALL = dict(SMALL, num_hidden_layers=2)
QUIET = dict(n_layer=2, n_embd=256, n_head=4, vocab_size=1000, embd_pdrop=0, attn_pdrop=0, resid_pdrop=0, activation_function="relu")
EVERY = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
MODELS = {"llama": (SMALL, EVERY), "qwen2": (SMALL, ["q_proj", "v_proj", "down_proj"]), "gpt2": (QUIET, ["c_attn", "c_proj"])}
WAYS = [("amp-bf16", "bf16", "bf16"), ("bf16", "", "bf16"), ("amp-bf16", "bf16", "fp32"), ("bf16", "", "fp32"), ("fp32", "", "fp32"), ("amp-bf16", "", "bf16")]
TORCH = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
CARDS = {90: (132, 9, 0), 80: (108, 8, 0), 89: (128, 8, 9), 75: (40, 7, 5)}


NEW = bitsandbytes.__version__ >= "0.50"
if NEW:
    from bitsandbytes.backends.cuda import ops as cuda


def gemm(card):
    """the op for CUDA, called as a function"""
    cuda._gpu_dispatch_props = lambda index: card
    cuda._gemm_4bit_use_custom_cuda.cache_clear()
    cuda._dequantize_blockwise_impl = cuda._dequantize_4bit_impl = lambda *args, **kwargs: None

    def fused(A, B, shapeB, *args):
        return torch.empty((*A.contiguous().shape[:-1], shapeB[0]), dtype=A.dtype)

    def run(A, B, shapeB, absmax, blocksize, quant_type, bias=None, absmax_8bit=None, absmax_code=None, absmax_offset=None):
        K, N = A.shape[-1], shapeB[0]
        M = A.numel() // K
        rest = (absmax, blocksize, quant_type, bias)
        if M > cuda._gemm_4bit_custom_max_m or K % blocksize or not cuda._gemm_4bit_use_custom_cuda(0, A.dtype, M, N, K):
            return cuda._dequant_linear_fallback(A, B, shapeB, *rest, absmax_8bit=absmax_8bit, absmax_code=absmax_code, absmax_offset=absmax_offset)
        return fused(A, B, shapeB, *rest)

    return run


def build(c):
    """the model as from_pretrained would leave it"""
    held = TORCH["bf16" if c["precision"] == "bf16" or c.get("weights") == "bf16" else "fp32"]
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=c["attn"])
    recast(model, held)
    model.config.use_cache = False
    keep = HfQuantizer.get_modules_to_not_convert(model, None, model._keep_in_fp32_modules)
    whole = {n: (m.weight.data, m.bias) for n, m in model.named_modules() if hasattr(m, "weight") and hasattr(m, "bias")}
    how = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=TORCH[c["quantization"]["compute"]],
                                          bnb_4bit_quant_type=c["quantization"]["type"], bnb_4bit_use_double_quant=c["quantization"]["double"])
    replace_with_bnb_linear(model, keep, how)
    for name, layer in model.named_modules():
        if isinstance(layer, bitsandbytes.nn.Linear4bit):
            weight, bias = whole[name]
            if layer.source_cls is not torch.nn.Linear:
                weight = weight.T
            layer.weight = bitsandbytes.nn.Params4bit(weight, requires_grad=False, **layer.weight.__dict__).to("cpu")
            layer.bias = bias
    model.is_loaded_in_4bit = True
    if c["quantization"]["prepare"]:
        peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    lora = peft.LoraConfig(r=c["lora"]["r"], lora_alpha=16, target_modules=c["lora"]["targets"], lora_dropout=0, task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, lora)
    if "adapters" in c["quantization"]:  # the lines of SFTTrainer.__init__
        for param in model.parameters():
            if param.requires_grad:
                param.data = param.data.to(TORCH[c["quantization"]["adapters"]])
    if c.get("checkpointing"):
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False, "preserve_rng_state": False})
    return model.train()


def record(c, path):
    log = Log()
    if NEW:
        torch.ops.bitsandbytes.gemm_4bit.default = gemm(CARDS[c["capability"]])
    else:  # the CPU's own code changes the type that weights are dequantized into
        bitsandbytes.matmul_4bit = lambda A, B, quant_state, out=None, bias=None: bitsandbytes.autograd._functions.MatMul4Bit.apply(A, B, out, bias, quant_state)
    model = build(c)
    kept = [t.untyped_storage() for t in list(model.parameters()) + list(model.buffers())]  # keeps the address of a bias that is cast from being reused
    for storage in kept:
        log.known[storage._cdata] = 0
    ids = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
    batch = dict(input_ids=ids, labels=ids.clone())
    with log:
        log.note("forward")
        loss = forward(model, batch, "cpu", c["precision"] == "amp-bf16")
        log.note("backward")
        loss.backward()
        log.note("end")
    trained, params = model.get_nb_trainable_parameters()
    save(c, path, log, params, trained)


def cases():
    for model, (precision, weights, compute), double, prepare, checkpointing in itertools.product(MODELS, WAYS, (False, True), (False, True), (False, True)):
        if model != "llama" and (prepare and checkpointing or compute == "fp32" and not weights):
            continue
        if prepare and not (weights or precision == "bf16"):
            continue
        config, targets = MODELS[model]
        c = dict(model="hf", model_type=model, head="causal", config=config, batch=3, seq=100, attn="eager", mask=False, precision=precision,
                 optimizer="adamw", device="cpu", capability=90, lora=dict(r=8, targets=targets, peft=True),
                 quantization=dict(bits=4, type="nf4" if double else "fp4", double=double, compute=compute, prepare=prepare))
        if weights:
            c["weights"] = weights
        if checkpointing:
            c["checkpointing"] = True
        words = [model, precision, weights or "own", compute] + ["double"] * double + ["prepare"] * prepare + ["checkpointing"] * checkpointing
        if not NEW:
            if model != "gpt2" and not checkpointing and (double or prepare):
                yield dict(c, bitsandbytes="0.49", id="-".join(words + ["older"]))
            continue
        yield dict(c, id="-".join(words))
        if model == "llama" and double and not prepare and not checkpointing:
            yield dict(c, seq=8, id="-".join(words + ["fused"]))
            yield dict(c, quantization=dict(c["quantization"], adapters="bf16"), id="-".join(words + ["adapters"]))


if __name__ == "__main__":
    library = torch.library.Library("aten", "IMPL", "AutocastCPU")
    library.impl("cross_entropy_loss", torch.library.fallthrough_kernel)
    for name in FLOAT32:
        library.impl(name, like_cuda(name))
    asked = torch.is_autocast_enabled
    torch.is_autocast_enabled = lambda device="cpu": asked(device)  # PEFT queries it for CUDA
    os.makedirs(sys.argv[1], exist_ok=True)
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[1], c["id"] + ".txt.gz"))
