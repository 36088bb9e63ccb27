"""Records the ops of a step with checkpointed blocks, for both kinds of checkpointing, on fake
tensors, as peft_ops.py does for PEFT. Written for TestCheckpoints in internal/simulate.

usage: checkpoint_ops.py OUTDIR [WORD]     line format as in peft_ops.py"""
import itertools, os, sys, warnings

warnings.simplefilter("ignore")
import torch, transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from peft_ops import Log, MODELS, recast, save, forward

PRECISIONS = ["fp32", "bf16", "amp-bf16"]


def build(c):
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=c["attn"])
    model.config.use_cache = False
    if c["precision"] == "bf16":
        recast(model, torch.bfloat16)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": c["reentrant"]})
    return model.train()


def record(c, path):
    log = Log()
    with FakeTensorMode(), torch.device("cpu"):
        model = build(c)
        ids = torch.zeros(c["batch"], c["seq"], dtype=torch.int64)
        batch = dict(input_ids=ids, labels=ids.clone())
        for t in [*model.parameters(), *model.buffers(), *batch.values()]:
            log.known[t.untyped_storage()._cdata] = 0
        with log:
            log.note("forward")
            loss = forward(model, batch, "cpu", c["precision"] == "amp-bf16")
            log.note("backward")
            loss.backward()
            log.note("end")
    log.lines = [line for line in log.lines if "aten.detach" not in line]  # detach does nothing, and would separate ops that belong together
    count = sum(p.numel() for p in model.parameters())
    save(c, path, log, count, count)


def cases():
    for model, precision, reentrant in itertools.product(MODELS, PRECISIONS, (True, False)):
        c = dict(model="hf", model_type=model, head="causal", config=MODELS[model][0], batch=3, seq=100, attn="eager", mask=False,
                 precision=precision, optimizer="adamw", device="cpu", checkpointing=True, reentrant=reentrant)
        yield dict(c, id="-".join([model, precision, "reentrant" if reentrant else "hooks"]))


if __name__ == "__main__":
    torch.nn.Module.to = lambda self, *args, **kwargs: self  # everything is already on its device
    os.makedirs(sys.argv[1], exist_ok=True)
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for c in cases():
        if word in c["id"]:
            record(c, os.path.join(sys.argv[1], c["id"] + ".txt.gz"))
