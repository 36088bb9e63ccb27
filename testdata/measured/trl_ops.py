"""Records the ops of a step with the loss of TRL's SFTTrainer: its fused head, which never creates
more than one tile of the logits. Written for TestTRL in internal/simulate.

usage: trl_ops.py OUTDIR [WORD]     line format as in peft_ops.py

Uses real tensors on the CPU, because selecting tokens by a mask needs values. The Triton kernels,
which allocate nothing, are omitted; products into float32 are in place, as on a GPU. The loss is
copied from SFTTrainer.compute_loss. There are enough tokens and words for several tiles."""
import itertools, os, sys, types, warnings

warnings.simplefilter("ignore")
import torch, transformers
from trl.kernels import chunked_logprob as kernels
from trl.trainer import utils
from peft_ops import Log, recast, save
from weights_ops import FLOAT32, TYPES, like_cuda

SMALL = {"hidden_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 40000,
         "num_hidden_layers": 2, "head_dim": 32}
CONFIGS = {
    "llama": SMALL,
    "qwen3": dict(SMALL, tie_word_embeddings=True),
    "gemma2": dict(SMALL, query_pre_attn_scalar=64, hidden_activation="relu"),
}


class Nothing:
    def __getitem__(self, grid):
        return lambda *args, **kwargs: None


def into(acc, a, b):
    """_addmm_fp32 as on a GPU, for types that the CPU cannot mix"""
    acc.mul_(1) if a.dtype != torch.float32 else acc.addmm_(a.float(), b.float())


def sft_loss(model, inputs):
    """SFTTrainer.compute_loss, one process, without num_items_in_batch"""
    outputs = model(**inputs, fused_lm_head=True)
    per_token_loss = -outputs.log_probs
    num_tokens = outputs.label_mask.sum()
    loss = per_token_loss.sum() / torch.as_tensor(num_tokens).clamp(min=1)
    num_valid = outputs.label_mask.sum().sum()
    entropy_sum = outputs.entropy.detach().sum().sum()
    num_correct = outputs.is_top1.sum().sum()
    (entropy_sum / num_valid).item() if num_valid > 0 else 0.0
    (num_correct / num_valid).item() if num_valid > 0 else 0.0
    return loss


def record(c, path):
    log, amp = Log(), c["precision"].startswith("amp")
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=c["attn"])
    if c["precision"] == "bf16" or "weights" in c:
        recast(model, torch.bfloat16)
    model.train()
    utils.add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))
    ids = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
    inputs = dict(input_ids=ids, labels=ids.clone(), use_cache=False)
    for t in [*model.parameters(), *model.buffers(), *(i for i in inputs.values() if i is not False)]:
        log.known[t.untyped_storage()._cdata] = 0
    with log:
        log.note("forward")
        with torch.autocast("cpu", torch.bfloat16, enabled=amp):
            loss = sft_loss(model, inputs)
        log.note("backward")
        loss.backward()
        log.note("end")
    params = list(model.parameters())
    save(c, path, log, sum(p.numel() for p in params), sum(p.numel() for p in params if p.requires_grad))


def cases():
    for model, (precision, weights) in itertools.product(CONFIGS, [("fp32", ""), ("amp-bf16", ""), ("bf16", ""), ("amp-bf16", "bf16")]):
        c = dict(model="hf", model_type=model, head="causal", config=CONFIGS[model], batch=3, seq=1400, attn="eager", mask=False,
                 precision=precision, optimizer="adamw", device="cpu", loss="trl")
        if weights:
            c["weights"] = weights
        yield dict(c, id="-".join(filter(None, [model, precision, weights])))


if __name__ == "__main__":
    library = torch.library.Library("aten", "IMPL", "AutocastCPU")
    library.impl("cross_entropy_loss", torch.library.fallthrough_kernel)
    for name in FLOAT32:
        library.impl(name, like_cuda(name))
    kernels._forward_kernel = kernels._backward_kernel = Nothing()
    kernels._use_triton = utils._use_triton = lambda device: True
    kernels._addmm_fp32 = into
    kernels.triton = types.SimpleNamespace(cdiv=lambda a, b: -(-a // b))
    os.makedirs(sys.argv[1], exist_ok=True)
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[1], c["id"] + ".txt.gz"))
