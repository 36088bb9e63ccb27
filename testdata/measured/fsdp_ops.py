"""Records the ops of FSDP in one of several processes: FullyShardedDataParallel (FSDP1) by hand or through
accelerate's plugin, with or without PEFT's LoRA, and accelerate's FSDP2, on PyTorch's fake
process group. Its collectives move nothing, so the other processes are not needed.

usage: fsdp_ops.py CASES.jsonl OUTDIR [--jobs N] [--device cuda]
For each case: OUTDIR/ID.json, the peaks of a plain run; with "ops", OUTDIR/ID.txt.gz as opslog.py writes it; with
"stacks", OUTDIR/ID.pickle.gz, a plain run's snapshot with Python frames."""
import argparse, functools, gc, gzip, json, os, pickle, subprocess, sys, time, traceback, warnings

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = "cuda"


def names(model):
    return set(getattr(model, "_no_split_modules", None) or [])


def lora(model, c):
    import peft
    l = c["lora"]
    config = peft.LoraConfig(r=l["r"], lora_alpha=16, target_modules=l["targets"], lora_dropout=l.get("dropout", 0.0), task_type="CAUSAL_LM")
    return peft.get_peft_model(model, config, autocast_adapter_dtype=l.get("upcast", True))


def build(c, device):
    import torch, transformers
    config = transformers.AutoConfig.for_model(c["model_type"], **c["config"])
    dtype = torch.bfloat16 if c["precision"] == "bf16" or c.get("weights") == "bf16" else torch.float32
    torch.set_default_dtype(dtype)
    with torch.device(device if c.get("load") == "whole" else "cpu"):
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=c.get("attn", "sdpa"))
    torch.set_default_dtype(torch.float32)
    model.config.use_cache = False
    if c.get("lora"):
        model = lora(model, c)
    if c.get("checkpointing") is True:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": c.get("reentrant", False)})
        if c.get("lora"):
            model.enable_input_require_grads()
    return model.train()


def policy(model, c):
    """wraps by hand: blocks, and with LoRA the adapter layers, as PEFT's fsdp_auto_wrap_policy does"""
    import torch
    from torch.distributed.fsdp.wrap import _or_policy, lambda_auto_wrap_policy, transformer_auto_wrap_policy
    classes = {type(m) for m in model.modules() if type(m).__name__ in names(model)}
    blocks = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls=classes)
    if not c.get("lora"):
        return blocks
    leaf = lambda m: not list(m.named_children()) and getattr(m, "weight", None) is not None and m.weight.requires_grad
    return functools.partial(_or_policy, policies=[functools.partial(lambda_auto_wrap_policy, lambda_fn=leaf), blocks])


def by_hand(model, c, device):
    import torch
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel as FSDP, MixedPrecision, ShardingStrategy
    d = c["dist"]
    of = {"fp32": torch.float32, "bf16": torch.bfloat16, None: None}
    mixed = MixedPrecision(param_dtype=of[d.get("param_dtype")], reduce_dtype=of[d.get("reduce_dtype")]) if d.get("param_dtype") or d.get("reduce_dtype") else None
    return FSDP(model, auto_wrap_policy=policy(model, c), mixed_precision=mixed, device_id=torch.device(device), use_orig_params=d.get("orig", False),
                sharding_strategy=getattr(ShardingStrategy, d.get("strategy", "FULL_SHARD")), backward_prefetch=getattr(BackwardPrefetch, d.get("prefetch", "BACKWARD_PRE")) if d.get("prefetch", "BACKWARD_PRE") else None,
                limit_all_gathers=d.get("limit", True), forward_prefetch=d.get("forward_prefetch", False), sync_module_states=d.get("sync", False))


def accelerated(model, c):
    """wraps as accelerate's plugin does, from the environment that accelerate launch sets"""
    from accelerate import Accelerator
    d = c["dist"]
    inner = model.base_model.model if c.get("lora") else model
    os.environ.update(ACCELERATE_USE_FSDP="true", FSDP_VERSION="2" if d["kind"] == "fsdp2" else "1", FSDP_AUTO_WRAP_POLICY="TRANSFORMER_BASED_WRAP", FSDP_TRANSFORMER_CLS_TO_WRAP=",".join(sorted(names(inner))),
                      FSDP_BACKWARD_PREFETCH=d.get("prefetch", "BACKWARD_PRE"), FSDP_SHARDING_STRATEGY=d.get("strategy", "FULL_SHARD"), FSDP_USE_ORIG_PARAMS=str(d.get("orig", False)).lower(), FSDP_FORWARD_PREFETCH="false",
                      FSDP_OFFLOAD_PARAMS="false", FSDP_STATE_DICT_TYPE="SHARDED_STATE_DICT", FSDP_SYNC_MODULE_STATES="true" if DEVICE == "cuda" else "false", FSDP_CPU_RAM_EFFICIENT_LOADING=str(d.get("efficient", False)).lower(),
                      FSDP_ACTIVATION_CHECKPOINTING="true" if c.get("checkpointing") == "plugin" else "false", FSDP_RESHARD_AFTER_FORWARD="true" if d["kind"] == "fsdp2" else "FULL_SHARD")
    a = Accelerator(mixed_precision="bf16" if c["precision"] == "amp-bf16" else "no")
    assert str(a.distributed_type) == "DistributedType.FSDP", a.distributed_type
    if c.get("lora") and a.state.fsdp_plugin.auto_wrap_policy is not None and d["kind"] == "fsdp1":
        from peft.utils.other import fsdp_auto_wrap_policy
        a.state.fsdp_plugin.auto_wrap_policy = fsdp_auto_wrap_policy(model)
    return a


def setup(c, device):
    import torch, torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    os.environ.update(LOCAL_RANK="0", RANK="0", WORLD_SIZE=str(c["dist"]["world"]), MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=c["dist"]["world"])
    model = build(c, device)
    made = lambda ps: torch.optim.AdamW(ps, lr=1e-4, foreach=True)
    if not c["dist"].get("accelerate"):
        model = by_hand(model, c, device)
        params = [p for p in model.parameters() if p.requires_grad]
        return model, made(params), params, None
    a = accelerated(model, c)
    if c["dist"]["kind"] == "fsdp2":
        model, opt = a.prepare(model, made([p for p in model.parameters() if p.requires_grad]))
    else:
        model = a.prepare(model)
        opt = a.prepare(made([p for p in model.parameters() if p.requires_grad]))
    return model, opt, [p for p in model.parameters() if p.requires_grad], a


def train(c, device, note=lambda text: None, steps=3):
    import torch
    cuda = device == "cuda"
    mark = (lambda: (torch.cuda.memory_allocated(), torch.cuda.memory_reserved())) if cuda else (lambda: (0, 0))
    model, opt, params, a = setup(c, device)
    out = {"units": [(n, type(m).__name__) for n, m in model.named_modules() if "FullyShard" in type(m).__name__][:12], "trainable": sum(p.numel() for p in params),
           "shards": [(str(p.dtype), list(p.shape), p.requires_grad) for p in model.parameters()][:12]}
    if cuda:
        gc.collect(), torch.cuda.empty_cache(), torch.cuda.reset_peak_memory_stats()
    out["loaded"], out["steps"] = mark(), []
    vocab = c["config"]["vocab_size"]
    amp = c["precision"] == "amp-bf16" and a is None
    for i in range(steps):
        s = {}
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        for k in range(c.get("accum", 1)):
            note("step %d: batch" % (i + 1))
            ids = torch.randint(0, vocab, (c["batch"], c["seq"]), device=device)
            b = dict(input_ids=ids, labels=ids.clone())
            del ids
            if c.get("mask", True):
                b["attention_mask"] = torch.ones(c["batch"], c["seq"], dtype=torch.long, device=device)
            s["start"] = mark()
            note("forward")
            with torch.autocast(device, dtype=torch.bfloat16, enabled=amp):
                loss = model(**b).loss
            s["fwd"] = mark()
            if cuda: s["fwd_peak"] = torch.cuda.max_memory_allocated()
            note("backward")
            loss.backward() if a is None else a.backward(loss)
            s["bwd"] = mark()
            if cuda: s["bwd_peak"] = torch.cuda.max_memory_allocated()
            note("backward done, loss and batch dropped")
            del loss, b
        if c.get("clip"):
            note("clip")
            if a is not None: a.clip_grad_norm_(params, 1.0)
            elif hasattr(model, "clip_grad_norm_"): model.clip_grad_norm_(1.0)
        note("optimizer")
        opt.step()
        s["opt"] = mark()
        if cuda: s["opt_peak"] = torch.cuda.max_memory_allocated()
        note("zero_grad")
        opt.zero_grad(set_to_none=True)
        note("step ends")
        if cuda:
            torch.cuda.synchronize()
            s["peak"], s["peak_reserved"] = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        s["end"] = mark()
        out["steps"].append(s)
    if cuda:
        out["peak_allocated"], out["peak_reserved"] = max(s["peak"] for s in out["steps"]), max(s["peak_reserved"] for s in out["steps"])
    return out


def plain(c, out, device, stacks):
    import torch
    if device == "cuda":
        torch.cuda.init(), torch.empty(1, device="cuda"), torch.cuda.synchronize()
        if stacks:
            torch.cuda.memory._record_memory_history(max_entries=1_000_000, context="all", stacks="python")
    r = train(c, device)
    if stacks and device == "cuda":
        with gzip.open(os.path.join(out, c["id"] + ".pickle.gz"), "wb", 6) as f:
            pickle.dump(torch.cuda.memory._snapshot(), f)
    else:
        with open(os.path.join(out, c["id"] + ".json"), "w") as f:
            json.dump(dict(case=c, measured=r, torch=torch.__version__), f)


def ops(c, out, device):
    import torch, opslog
    if device == "cuda":
        torch.cuda.init(), torch.empty(1, device="cuda")
        torch.cuda.memory._record_memory_history(max_entries=1_000_000, context=None)
    else:
        opslog.Tag.set = lambda s, t: None
    t = opslog.Tag()
    with t:
        train(c, device, t.note, steps=2)
    names, order, n = {}, [], 0
    for e in torch.cuda.memory._snapshot()["device_traces"][0] if device == "cuda" else []:
        tag = int(e.get("user_metadata") or "0")
        if e["action"] == "alloc":
            n += 1
            names[e["addr"]] = n
            order.append((tag, "    + %d  #%d%s" % (e["size"], n, "" if not e["stream"] else " stream %x" % e["stream"])))
        elif e["action"] in ("free_requested", "free_completed"):
            order.append((tag, "    %s #%s" % ("-" if e["action"] == "free_completed" else "?", names.get(e["addr"], "?"))))
    lines, at = [], -1
    for tag, text in order:
        while at < tag:
            at += 1
            lines.append(t.lines[at])
        lines.append(text if tag == at else text + "   (tag %d)" % tag)
    lines += t.lines[at + 1:]
    with gzip.open(os.path.join(out, c["id"] + ".txt.gz"), "wt", compresslevel=9) as f:
        f.write("# %s\n# torch %s\n" % (json.dumps(c), torch.__version__))
        f.write("\n".join(lines) + "\n")


def rehearse(c):
    """without a GPU, only tries the calls, at a small size, with accelerate believing that there is one"""
    import torch
    from accelerate.state import DistributedType, PartialState
    c.update(batch=1, seq=16)
    PartialState._prepare_backend = lambda self, *a: ("fake", DistributedType.MULTI_GPU)

    def place(self):
        self.device = torch.device("cpu")

    PartialState.set_device = place


def one(path, number, what, out, device):
    global DEVICE
    DEVICE = device
    c = [json.loads(l) for l in open(path)][number]
    if device == "cpu":
        rehearse(c)
    try:
        {"plain": lambda: plain(c, out, device, False), "stacks": lambda: plain(c, out, device, True), "ops": lambda: ops(c, out, device)}[what]()
        if what == "plain":
            m = json.load(open(os.path.join(out, c["id"] + ".json")))["measured"]
            print("%-60s %10.2f %10.2f MiB" % (c["id"], m.get("peak_allocated", 0) / 2**20, m.get("peak_reserved", 0) / 2**20), flush=True)
    except Exception:
        with open(os.path.join(out, "%s.%s.error" % (c["id"], what)), "w") as f:
            f.write(traceback.format_exc())
        print(c["id"], what, "FAILED", traceback.format_exc()[-300:].replace("\n", " | "), flush=True)
    sys.stdout.flush()
    os._exit(0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("cases"), p.add_argument("out"), p.add_argument("--jobs", type=int, default=12), p.add_argument("--device", default="cuda")
    p.add_argument("--only", default=""), p.add_argument("--one"), p.add_argument("--what")
    p.add_argument("--deadline", type=float, default=215)
    a = p.parse_args()
    if a.one is not None:
        return one(a.cases, int(a.one), a.what, a.out, a.device)
    os.makedirs(a.out, exist_ok=True)
    begin = time.time()
    cases = [json.loads(l) for l in open(a.cases)]
    todo = [(i, w) for w in ("plain", "ops", "stacks") for i, c in enumerate(cases) if (w == "plain" or c.get(w)) and a.only in c["id"]]
    running = []
    while (todo or running) and time.time() - begin < a.deadline:
        running = [r for r in running if r.poll() is None]
        while todo and len(running) < a.jobs:
            i, w = todo.pop(0)
            running.append(subprocess.Popen([sys.executable, __file__, a.cases, a.out, "--one", str(i), "--what", w, "--device", a.device], cwd=HERE))
        time.sleep(0.05)
    for r in running:
        r.kill()
    print("left %d, %.0f s" % (len(todo) + len(running), time.time() - begin))


if __name__ == "__main__":
    main()
