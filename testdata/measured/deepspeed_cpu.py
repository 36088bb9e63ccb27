"""Records what DeepSpeed itself allocates, on the CPU: neither a GPU nor a second process is needed.

usage: deepspeed_cpu.py FOLDER

A Llama with three small layers trains two steps of three micro-batches under DeepSpeed's
ZeRO, as the first of four processes whose collectives do nothing. PyTorch's profiler
sees every allocation. Those larger than any tensor of the model itself are written in order,
by the part of the run that made them, to FOLDER/zero1.txt and so on. FOLDER/init.txt is
loading under zero.Init, down to 200,000 bytes.

Made with deepspeed 0.19.8, PyTorch 2.11.0 and transformers 5.22.2. The CPU's matrix
products use temporary memory, here at most 1,024,128 bytes.
"""
import json, os, subprocess, sys, tempfile

OWN = 1_200_000  # bytes; larger tensors are not the model's
WORLD, MICROS = 4, 3


def train(stage, init, trace):
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, record_function
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD)
    import contextlib
    import deepspeed
    from transformers import LlamaConfig, LlamaForCausalLM

    deepspeed.init_distributed(dist_init_required=False, verbose=False)
    config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": MICROS, "zero_allow_untested_optimizer": True,
              "bf16": {"enabled": True}, "zero_optimization": {"stage": stage}}
    shape = LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as seen:
        with record_function("part load"):
            within = deepspeed.zero.Init(config_dict_or_path=config) if init else contextlib.nullcontext()
            torch.set_default_dtype(torch.bfloat16)  # as from_pretrained does for a model saved in bf16
            with within:
                model = LlamaForCausalLM(shape)
            torch.set_default_dtype(torch.float32)
        if not init:
            with record_function("part wrap"):
                optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
                engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
            for step in range(2):
                for k in range(MICROS):
                    ids = torch.randint(0, 1000, (2, 64))
                    with record_function("part forward"):
                        loss = engine(input_ids=ids, labels=ids).loss
                    with record_function("part backward"):
                        engine.backward(loss)
                    del loss
                    with record_function("part step"):
                        engine.step()
    seen.export_chrome_trace(trace)


def events(trace, least):
    """Returns the allocations and frees of at least this many bytes, by part of the run."""
    rows = json.load(open(trace))["traceEvents"]
    parts = sorted((r["ts"], r["ts"] + r["dur"], r["name"][5:]) for r in rows if r.get("name", "").startswith("part ") and r.get("ph") == "X")
    memory = sorted((r for r in rows if r.get("name") == "[memory]"), key=lambda r: (r["ts"], r["args"]["Ev Idx"]))
    size, last = {}, None
    for r in memory:
        n, at = r["args"]["Bytes"], r["args"]["Addr"]
        if n > 0:
            size[at] = n
        else:
            n = -size.pop(at, 0)
        under = next((p for p in parts if p[0] <= r["ts"] <= p[1]), None)
        if abs(n) < least or under is None:
            continue
        if under != last:
            last = under
            yield "# " + under[2]
        yield f"{n:+d}"


def main():
    if len(sys.argv) == 4:
        return train(int(sys.argv[1]), sys.argv[2] == "init", sys.argv[3])
    folder = sys.argv[1]
    env = {**os.environ, "DS_ACCELERATOR": "cpu", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(WORLD),
           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29777"}
    for name, stage, least in (("zero1", 1, OWN), ("zero2", 2, OWN), ("zero3", 3, OWN), ("init", 3, 200_000)):
        with tempfile.TemporaryDirectory() as d:
            trace = os.path.join(d, "trace.json")
            subprocess.run([sys.executable, __file__, str(stage), name, trace], check=True, env=env, stdout=subprocess.DEVNULL)
            with open(os.path.join(folder, name + ".txt"), "w") as f:
                f.write("\n".join(events(trace, least)) + "\n")


if __name__ == "__main__":
    main()
