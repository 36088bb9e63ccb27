"""Records the ops of a step of nanoGPT's own model, without a GPU: on fake tensors, as peft_ops.py
does for PEFT. Written for TestNanoGPT and TestNanoGPTLoop in internal/simulate.

usage: nanogpt_ops.py NANOGPT OUTDIR [WORD]     NANOGPT is a checkout of karpathy/nanoGPT; line format
                                                as in peft_ops.py

On "cpu" both passes are recorded. Autocast casts as on a GPU (see weights_ops.py), and attention is
the CPU's flash kernel, which saves the same tensors as cuDNN's except for two counters of the random
generator. Dropout is a single kernel only on "cuda", where only the forward pass can be recorded, and
the attention kernel is given, because there is no card to choose it for. "loop" is train.py itself on
the CPU, from its first batch to its last update, with real numbers."""
import itertools, os, pickle, runpy, shutil, sys, tempfile, warnings

warnings.simplefilter("ignore")
import numpy as np
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from peft_ops import Log, save
from weights_ops import FLOAT32, like_cuda

ATTENTION = F.scaled_dot_product_attention
SMALL = {"n_layer": 3, "n_head": 8, "n_embd": 512, "block_size": 128, "vocab_size": 1000}


def forward(model, ids, targets, device, amp):
    """with ctx: logits, loss = model(X, Y); torch.autocast would turn itself off without a GPU"""
    torch.set_autocast_enabled(device, amp)
    torch.set_autocast_dtype(device, torch.bfloat16)
    torch.autocast_increment_nesting()
    logits, loss = model(ids, targets)
    if torch.autocast_decrement_nesting() == 0:
        torch.clear_autocast_cache()
    torch.set_autocast_enabled(device, False)
    return logits, loss


def attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
    """F.scaled_dot_product_attention as it runs on an H200"""
    if query.dtype == torch.float32:
        return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, None, True, dropout_p, is_causal)[0]
    return torch.ops.aten._scaled_dot_product_cudnn_attention(query, key, value, None, True, dropout_p, is_causal)[0]


def record(c, path):
    from model import GPT, GPTConfig
    log, device = Log(), c["device"]
    F.scaled_dot_product_attention = attend if device == "cuda" else ATTENTION
    with FakeTensorMode(), torch.device(device):
        model = GPT(GPTConfig(**c["config"])).train()
        x = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
        y = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
        for t in [*model.parameters(), x, y]:
            log.known[t.untyped_storage()._cdata] = 0
        with log:
            log.note("forward")
            logits, loss = forward(model, x, y, device, c["precision"] == "amp-bf16")
            if device == "cpu":
                log.note("backward")
                loss.backward()
            log.note("end")
    count = sum(p.numel() for p in model.parameters())
    save(c, path, log, count, count)


def loop(outdir):
    """three updates of three micro-batches each, and estimate_loss before the first"""
    config = dict(SMALL, n_layer=1, bias=False, dropout=0.0)
    c = dict(model="nanogpt", model_type="nanogpt", head="causal", config=config, batch=3, seq=100, attn="sdpa", precision="fp32",
             optimizer="adamw-loop", accumulation=3, clip=True, device="cpu", id="loop")
    said = dict(config, block_size=c["seq"], batch_size=c["batch"], gradient_accumulation_steps=c["accumulation"], device="cpu",
                dtype="float32", dataset="zeros", eval_iters=2, max_iters=2, compile=False)
    home, folder = os.getcwd(), tempfile.mkdtemp()
    os.chdir(folder)
    os.makedirs("data/zeros")
    for split in "train", "val":
        np.zeros(1000, dtype=np.uint16).tofile("data/zeros/%s.bin" % split)
    with open("data/zeros/meta.pkl", "wb") as f:
        pickle.dump({"vocab_size": said.pop("vocab_size")}, f)
    shutil.copy(os.path.join(home, sys.argv[1], "configurator.py"), ".")
    sys.argv[1:], log = ["--%s=%s" % kv for kv in said.items()], Log()
    with log:
        out = runpy.run_path(os.path.join(sys.path[0], "train.py"))
    os.chdir(home)
    count = out["model"].get_num_params(non_embedding=False)
    c["config"]["block_size"] = c["seq"]
    save(c, os.path.join(outdir, "loop.txt.gz"), log, count, count)


def cases():
    for device, precision, bias, dropout in itertools.product(("cpu", "cuda"), ("fp32", "amp-bf16"), (False, True), (0.0, 0.1)):
        if device == "cpu" and (dropout or precision == "fp32"):
            continue
        config = dict(SMALL, bias=bias, dropout=dropout)
        name = "-".join([device, precision] + ["bias"] * bias + ["dropout"] * (dropout > 0))
        yield dict(model="nanogpt", model_type="nanogpt", head="causal", config=config, batch=3, seq=100, attn="sdpa",
                   precision=precision, optimizer="adamw-fused", device=device, id=name)


if __name__ == "__main__":
    sys.path.insert(0, os.path.abspath(sys.argv[1]))
    kernels = torch.library.Library("aten", "IMPL", "AutocastCPU")
    kernels.impl("cross_entropy_loss", torch.library.fallthrough_kernel)
    for name in FLOAT32:
        kernels.impl(name, like_cuda(name))
    os.makedirs(sys.argv[2], exist_ok=True)
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[2], c["id"] + ".txt.gz"))
    if word in "loop":
        loop(os.path.abspath(sys.argv[2]))
