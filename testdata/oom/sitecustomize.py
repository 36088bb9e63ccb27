"""Runs before the program: sets a cap, writes a snapshot when memory runs out, and records steps and the card."""
import os
OUT, REC = os.environ.get("OOM_OUT"), os.environ.get("OOM_RECORD")
if (OUT or REC) and not os.environ.get("OOM_CHILD"):
    os.environ["OOM_CHILD"] = "1"  # workers and children are not changed
    import atexit, json, pickle, gzip, threading, time
    import torch
    cap, card = float(os.environ.get("OOM_CAP", "0")), torch.cuda.get_device_properties(0)
    limit = int(cap * 2**30)
    if cap:
        torch.cuda.set_per_process_memory_fraction(limit / card.total_memory)
    if OUT:
        torch.cuda.memory._record_memory_history(max_entries=150000, context="all", stacks="python")
    t0, lock = time.time(), threading.Lock()
    rec = open(REC, "w") if REC else None
    def line(**kw):
        if rec:
            with lock:
                rec.write(json.dumps({"t": round(time.time() - t0, 3), **kw}) + "\n"); rec.flush()
    def on_oom(*a):
        line(kind="oom", message="CUDA out of memory")
        if OUT:
            with gzip.open(OUT, "wb", compresslevel=6) as f:
                pickle.dump(torch.cuda.memory._snapshot(), f)
    torch._C._cuda_attach_out_of_memory_observer(on_oom)
    if rec:
        import pynvml
        pynvml.nvmlInit()
        h = pynvml.nvmlDeviceGetHandleByIndex(0)
        line(kind="start", total=card.total_memory, pid=os.getpid())
        if cap: line(kind="limit", limit=limit)
        def sample():
            while True:
                m, u = pynvml.nvmlDeviceGetMemoryInfo(h), pynvml.nvmlDeviceGetUtilizationRates(h)
                procs = [{"pid": p.pid, "used": p.usedGpuMemory} for p in pynvml.nvmlDeviceGetComputeRunningProcesses(h)]
                line(kind="gpu", gpu=0, used=m.used, total=m.total, gpu_util=u.gpu, procs=procs)
                time.sleep(0.25)
        threading.Thread(target=sample, daemon=True).start()
        state = {"depth": 0, "shape": None, "training": True, "step": 0}
        def emit(phase):
            s = torch.cuda.memory_stats()
            line(kind="step", pid=os.getpid(), step=state["step"], phase=phase, shape=state["shape"], allocated=s["allocated_bytes.all.current"], reserved=s["reserved_bytes.all.current"],
                 peak_allocated=s["allocated_bytes.all.peak"], peak_reserved=s["reserved_bytes.all.peak"], retries=s["num_alloc_retries"])
            torch.cuda.reset_peak_memory_stats()
        def pre(module, inputs):
            if state["depth"] == 0 and inputs and hasattr(inputs[0], "shape"):
                state["shape"], state["training"] = list(inputs[0].shape), module.training
            state["depth"] += 1
        def post(module, inputs, output):
            state["depth"] -= 1
            if state["depth"] == 0 and not module.training: emit("eval")
        torch.nn.modules.module.register_module_forward_pre_hook(pre)
        torch.nn.modules.module.register_module_forward_hook(post)
        from torch.optim.optimizer import register_optimizer_step_post_hook
        def stepped(opt, a, k):
            state["step"] += 1; emit("train")
        register_optimizer_step_post_hook(stepped)
        atexit.register(lambda: line(kind="end"))
