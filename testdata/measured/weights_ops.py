"""Records the ops of a step with 16-bit weights under autocast, on fake tensors, as peft_ops.py does
for PEFT. Written for TestWeights in internal/simulate.

usage: weights_ops.py OUTDIR [WORD]     line format as in peft_ops.py

Autocast on the CPU does not change the ops that it runs in float32 on a GPU: here these ops get a kernel
that behaves like AutocastCUDA's (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32). Arguments are cast
from the last to the first, as in the compiled kernels."""
import itertools, os, sys, warnings

warnings.simplefilter("ignore")
import torch, transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from peft_ops import Log, MODELS, SMALL, recast, save, forward

ENCODER = {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000, "num_hidden_layers": 2,
           "hidden_act": "relu", "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
T5 = {"d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 8, "vocab_size": 1000, "dropout_rate": 0, "decoder_start_token_id": 0}
HEADS = dict(SMALL, num_hidden_layers=2, head_dim=64)
NEOX = {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000, "num_hidden_layers": 2, "hidden_act": "relu"}
DISTIL = {"dim": 512, "n_heads": 8, "hidden_dim": 1024, "vocab_size": 1000, "n_layers": 2, "dropout": 0, "attention_dropout": 0, "activation": "relu"}
CASES = {  # config, head, the class that has it
    "gpt2": (MODELS["gpt2"][0], "causal", transformers.AutoModelForCausalLM),
    "llama": (MODELS["llama"][0], "causal", transformers.AutoModelForCausalLM),
    "bert": (ENCODER, "masked", transformers.AutoModelForMaskedLM),
    "qwen3": (HEADS, "causal", transformers.AutoModelForCausalLM),
    "gemma2": (dict(HEADS, query_pre_attn_scalar=64, hidden_activation="relu"), "causal", transformers.AutoModelForCausalLM),
    "phi3": (dict(HEADS, pad_token_id=0), "causal", transformers.AutoModelForCausalLM),
    "gpt_neox": (NEOX, "causal", transformers.AutoModelForCausalLM),
    "distilbert": (DISTIL, "masked", transformers.AutoModelForMaskedLM),
    "t5": (T5, "seq2seq", transformers.AutoModelForSeq2SeqLM),
}
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
FLOAT32 = ["layer_norm", "softmax.int", "log_softmax.int", "nll_loss", "pow.Tensor_Scalar", "rsqrt", "exp", "log", "sum.dim_IntList"]
SET = ("softmax", "log_softmax", "sum")  # these get dtype=float32 instead, unless they have a dtype


def raised(x):
    return x.to(torch.float32) if isinstance(x, torch.Tensor) and x.dtype in (torch.float16, torch.bfloat16) else x


def like_cuda(name):
    """returns AutocastCUDA's kernel for an op"""
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def kernel(*args, **kwargs):
        args = list(args)
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
            if packet in SET:
                given = kwargs.get("dtype") or (args[2] if len(args) > 2 and packet != "sum" else None)
                if given is None and args[0].dtype in TYPES.values():
                    kwargs["dtype"], args = torch.float32, [a for i, a in enumerate(args) if i != 2 or packet == "sum"]
                return op(*args, **kwargs)
            for i in reversed(range(len(args))):
                args[i] = raised(args[i])
            return op(*args, **kwargs)

    return kernel


def build(c, cls):
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    model = cls.from_config(config, attn_implementation=c["attn"])
    model.config.use_cache = False
    recast(model, TYPES[c["weights"]])
    return model.train()


def record(c, path):
    log, device = Log(), c["device"]
    with FakeTensorMode(), torch.device(device):
        model = build(c, CASES[c["model_type"]][2])
        ids = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
        labels = torch.zeros(c["batch"], c.get("tgt", c["seq"]), dtype=torch.int64)
        for t in [*model.parameters(), *model.buffers(), ids, labels]:
            log.known[t.untyped_storage()._cdata] = 0
        with log:
            log.note("forward")
            loss = forward(model, dict(input_ids=ids, labels=labels), device, True)
            if device == "cpu":
                log.note("backward")
                loss.backward()
            log.note("end")
    count = sum(p.numel() for p in model.parameters())
    save(c, path, log, count, count)


def cases():
    for (model, (config, head, _)), device, weights in itertools.product(CASES.items(), ("cpu", "cuda"), TYPES):
        if (model, device, weights) == ("gpt_neox", "cpu", "fp16"):  # the CPU's cat of two types casts each separately
            continue
        c = dict(model="hf", model_type=model, head=head, config=config, batch=3, seq=100, attn="eager", mask=False,
                 precision="amp-bf16", weights=weights, optimizer="adamw", device=device)
        if head == "seq2seq":
            c["tgt"] = 25
        yield dict(c, id="-".join([model, device, "amp-bf16", weights]))


if __name__ == "__main__":
    kernels = torch.library.Library("aten", "IMPL", "AutocastCPU")
    kernels.impl("cross_entropy_loss", torch.library.fallthrough_kernel)  # only the CPU casts it to float32 as a whole
    for name in FLOAT32:
        kernels.impl(name, like_cuda(name))
    torch.nn.Module.to = lambda self, *args, **kwargs: self  # everything is already on its device
    os.makedirs(sys.argv[1], exist_ok=True)
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[1], c["id"] + ".txt.gz"))
