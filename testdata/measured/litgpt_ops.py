"""Records the memory of LitGPT's finetuning in one of several processes, on PyTorch's fake process group
(its collectives move nothing). Flavors:
  old  finetune/lora.py of lit-gpt 8641822 (October 2023, as the package lit_gpt): FSDP1 through Fabric, LoRA inside the blocks
  new  litgpt/finetune/lora.py 0.5.13: fully_shard through ModelParallelStrategy
  full litgpt/finetune/full.py 0.5.13: FSDP1, everything trained
usage: litgpt_ops.py CASES.jsonl OUTDIR [--jobs N] [--gib G] [--device cuda]"""
import argparse, gc, gzip, json, os, pickle, subprocess, sys, time, traceback, warnings

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def pieces(c):
    if c["flavor"] == "old":
        import lit_gpt.lora as lora
        from lit_gpt.utils import chunked_cross_entropy
        l = c.get("lora") or {}
        config = lora.Config(name=c["id"], r=l.get("r", 0), alpha=16, dropout=l.get("dropout", 0.0), to_query=l.get("query", True), to_key=l.get("key", False), to_value=l.get("value", True),
                             to_projection=l.get("projection", False), to_mlp=l.get("mlp", False), to_head=l.get("head", False), **c["config"])
        return lora.GPT, lora.Block, config, chunked_cross_entropy, lora.mark_only_lora_as_trainable
    from litgpt.utils import chunked_cross_entropy
    if c["flavor"] == "new":
        import litgpt.lora as lora
        l = c.get("lora") or {}
        config = lora.Config(name=c["id"], lora_r=l.get("r", 0), lora_alpha=16, lora_dropout=l.get("dropout", 0.0), lora_query=l.get("query", True), lora_key=l.get("key", False), lora_value=l.get("value", True),
                             lora_projection=l.get("projection", False), lora_mlp=l.get("mlp", False), lora_head=l.get("head", False), **c["config"])
        return lora.GPT, lora.Block, config, chunked_cross_entropy, lora.mark_only_lora_as_trainable
    import litgpt.model as m
    from litgpt.config import Config
    return m.GPT, m.Block, Config(name=c["id"], **c["config"]), chunked_cross_entropy, None


def strategy(c, Block, device):
    """the strategy as that flavor's file creates it; "nock" omits checkpointing"""
    import torch
    from lightning.fabric.strategies import FSDPStrategy, ModelParallelStrategy
    world = c.get("world", 1)
    if world == 1:
        return "auto"
    ck = c.get("checkpointing", True)
    if c["flavor"] != "new":
        class OnCPUToo(FSDPStrategy):
            pass
        kind = OnCPUToo if device == "cpu" else FSDPStrategy
        return kind(auto_wrap_policy={Block}, activation_checkpointing_policy={Block} if ck else None, state_dict_type="full", limit_all_gathers=True, cpu_offload=False)

    from functools import partial
    from litgpt.finetune.lora import parallelize_fn
    parallelize_fn = partial(parallelize_fn, activation_checkpointing=ck)
    return ModelParallelStrategy(parallelize_fn=parallelize_fn, data_parallel_size=world, tensor_parallel_size=1)


def setup(c, device):
    import torch, torch.distributed as dist
    import lightning as L
    from torch.testing._internal.distributed.fake_pg import FakeStore
    world = c.get("world", 1)
    GPT, Block, config, loss_of, mark = pieces(c)
    if world > 1:
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    # one process on each of `world` nodes: Fabric starts no others
    fabric = L.Fabric(accelerator="cpu" if device == "cpu" else "gpu", devices=1, num_nodes=world, strategy=strategy(c, Block, device), precision=c.get("precision", "bf16-true"))
    fabric.launch()
    empty = world > 1 and not (device == "cpu" and c["flavor"] != "new")
    with fabric.init_module(empty_init=empty):
        model = GPT(config)
    if c.get("lora"):
        mark(model)
    model = fabric.setup_module(model)
    params = [p for p in model.parameters() if p.requires_grad] if c["flavor"] == "old" else list(model.parameters())
    optimizer = torch.optim.AdamW(params, lr=3e-4, weight_decay=0.01)
    optimizer = fabric.setup_optimizers(optimizer)
    return fabric, model, optimizer, params, loss_of, config


def lengths(c):
    """tokens of each micro-batch in a step; LitGPT puts the longest sample into a run's first batch"""
    n = c.get("accum", 1)
    return [c["seq"]] + [c.get("later", c["seq"])] * (n - 1)


def train(c, device, note=lambda text: None, steps=3):
    import torch
    cuda = device == "cuda"
    mark = (lambda: (torch.cuda.memory_allocated(), torch.cuda.memory_reserved())) if cuda else (lambda: (0, 0))
    peaks = (lambda: (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())) if cuda else (lambda: (0, 0))
    fabric, model, optimizer, params, chunked_cross_entropy, config = setup(c, device)
    model.max_seq_length = c["seq"]
    model.train()
    inner = list(model.named_parameters())
    out = {"trainable": sum(p.numel() for p in params if p.requires_grad), "optimized": [(str(p.dtype), list(p.shape), p.requires_grad) for p in params][:24],
           "params": [(n, list(p.shape), p.requires_grad) for n, p in inner][:24], "load_peak": peaks(), "loaded": mark(), "steps": []}
    if cuda:
        gc.collect(), torch.cuda.empty_cache(), torch.cuda.reset_peak_memory_stats()
    out["start"] = mark()
    vocab, accum = config.padded_vocab_size, c.get("accum", 1)
    chunks = {} if c["flavor"] == "full" else {"lm_head_chunk_size": 128}
    for i in range(steps):
        s = {"micro": []}
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        for k, n in enumerate(lengths(c)):
            note("step %d, micro-batch %d: batch" % (i + 1, k + 1))
            x = torch.randint(0, vocab, (c["batch"], n))
            y = x.clone()
            input_ids, targets = fabric.to_device((x.pin_memory(), y.pin_memory())) if cuda else (x, y)
            m = {"start": mark()}
            is_accumulating = k + 1 < accum
            with fabric.no_backward_sync(model, enabled=is_accumulating and c.get("nosync", True)):
                note("forward")
                logits = model(input_ids, **chunks)
                note("loss")
                if chunks:
                    logits[-1] = logits[-1][..., :-1, :]
                    loss = chunked_cross_entropy(logits, targets[..., 1:])
                else:
                    loss = chunked_cross_entropy(logits[..., :-1, :], targets[..., 1:])
                m["fwd"], m["fwd_peak"] = mark(), peaks()[0]
                note("backward")
                fabric.backward(loss / accum)
            m["bwd"], m["bwd_peak"] = mark(), peaks()[0]
            s["micro"].append(m)
        note("optimizer")
        optimizer.step()
        s["opt"], s["opt_peak"] = mark(), peaks()[0]
        note("zero_grad")
        optimizer.zero_grad()
        s["zeroed"] = mark()
        note("item")
        loss.item()
        note("step ends")
        if cuda:
            torch.cuda.synchronize()
        s["peak"], s["peak_reserved"] = peaks()
        out["steps"].append(s)
    out["peak_allocated"], out["peak_reserved"] = max(s["peak"] for s in out["steps"]), max(s["peak_reserved"] for s in out["steps"])
    return out


def plain(c, out, device, stacks):
    import torch
    if device == "cuda":
        torch.cuda.init(), torch.empty(1, device="cuda"), torch.cuda.synchronize()
        if stacks:
            torch.cuda.memory._record_memory_history(max_entries=1_000_000, context="all", stacks="python")
    r = train(c, device, steps=2 if stacks else 3)
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


def one(path, number, what, out, device):
    c = [json.loads(l) for l in open(path)][number]
    if device == "cpu":
        c["config"] = dict(c["config"], n_layer=2, n_embd=64, vocab_size=512, n_head=4, **({"n_query_groups": 2 if c["config"]["n_query_groups"] < c["config"]["n_head"] else 4, "intermediate_size": 128} if "n_query_groups" in c["config"] else {}))
        import torch, faulthandler
        from torch.distributed.fsdp import FullyShardedDataParallel as F
        faulthandler.dump_traceback_later(60, exit=True)
        made = F.__init__
        F.__init__ = lambda self, *a, **k: made(self, *a, **dict(k, device_id=torch.device("cpu")))
        c.update(batch=1, seq=160)
        if "later" in c: c["later"] = 140
    try:
        {"plain": lambda: plain(c, out, device, False), "stacks": lambda: plain(c, out, device, True), "ops": lambda: ops(c, out, device)}[what]()
        if what == "plain":
            m = json.load(open(os.path.join(out, c["id"] + ".json")))["measured"]
            print("%-44s %10.2f %10.2f MiB   load %10.2f" % (c["id"], m["peak_allocated"] / 2**20, m["peak_reserved"] / 2**20, m["load_peak"][0] / 2**20), flush=True)
    except Exception:
        with open(os.path.join(out, "%s.%s.error" % (c["id"], what)), "w") as f:
            f.write(traceback.format_exc())
        print(c["id"], what, "FAILED", traceback.format_exc()[-300:].replace("\n", " | "), flush=True)
    sys.stdout.flush()
    os._exit(0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("cases"), p.add_argument("out"), p.add_argument("--jobs", type=int, default=12), p.add_argument("--device", default="cuda")
    p.add_argument("--only", default=""), p.add_argument("--one"), p.add_argument("--what"), p.add_argument("--gib", type=float, default=118)
    p.add_argument("--deadline", type=float, default=230)
    a = p.parse_args()
    if a.one is not None:
        return one(a.cases, int(a.one), a.what, a.out, a.device)
    os.makedirs(a.out, exist_ok=True)
    begin = time.time()
    cases = [json.loads(l) for l in open(a.cases)]
    todo = [(i, w) for w in ("plain", "ops", "stacks") for i, c in enumerate(cases) if (w == "plain" or c.get(w)) and a.only in c["id"]]
    running = []
    while (todo or running) and time.time() - begin < a.deadline:
        running = [r for r in running if r[0].poll() is None]
        used = sum(r[1] for r in running)
        for t in list(todo):
            g = cases[t[0]].get("gib", 2.5)
            if len(running) >= a.jobs or used + g > a.gib:
                continue
            todo.remove(t)
            used += g
            running.append((subprocess.Popen([sys.executable, __file__, a.cases, a.out, "--one", str(t[0]), "--what", t[1], "--device", a.device], cwd=HERE), g))
        time.sleep(0.05)
    for r, _ in running:
        r.kill()
    print("left %d, %.0f s" % (len(todo) + len(running), time.time() - begin))


if __name__ == "__main__":
    main()
