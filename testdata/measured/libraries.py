"""Measures peaks of training with other libraries: TRL's loss, Liger's kernels, 16-bit weights under
autocast, models loaded in parts, DeepSpeed.

usage: libraries.py OUT.jsonl [WORD]      only cases with WORD in their names

Needs a GPU, torch and transformers; trl, liger_kernel and deepspeed for their own cases. Each case runs
in a separate process and writes a line {"setup", "measured"}; a case that cannot run reports why and writes
none. For several GPUs, the first of eight processes runs, with collectives that do nothing.

libraries.jsonl was made with trl 1.16.0, liger_kernel 0.8.5, deepspeed 0.19.8, torch 2.11.0 and
transformers 5.17.0.
"""
import json, multiprocessing as mp, os, sys, traceback

WORLD = 8
LLAMA = dict(model_type="llama", hidden_size=2048, num_hidden_layers=4, num_attention_heads=32, num_key_value_heads=8, intermediate_size=8192,
             vocab_size=128256, tie_word_embeddings=True)
QWEN3 = dict(model_type="qwen3", hidden_size=1024, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
             intermediate_size=3072, vocab_size=151936)
TINY = dict(model_type="llama", hidden_size=2048, num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4, intermediate_size=5632,
            vocab_size=32000, max_position_embeddings=2048)
T5 = dict(model_type="t5", d_model=768, d_ff=3072, num_heads=12, num_layers=4, decoder_start_token_id=0)
TYPES = {"bf16": "bfloat16", "fp16": "float16"}


def setup(name, config, head="causal-lm", **more):
    return dict(dict(id=name, model=dict(config=config, head=head), batch=4, seq=512, precision="amp-bf16", optimizer="adamw"), **more)


def trl_cases():
    for kind, config in ("llama", LLAMA), ("qwen3", QWEN3):
        for name, more in (("amp", {}), ("amp-ckpt", dict(checkpointing=True)), ("amp-weights16", dict(weights="bf16")), ("bf16", dict(precision="bf16")),
                           ("fp32", dict(precision="fp32")), ("amp-ckpt-accum", dict(checkpointing=True, accumulation=2, clip=True))):
            yield setup("trl-%s-%s" % (kind, name), config, seq=2048, optimizer="adamw-fused", loss="trl", **more)
    yield setup("trl-llama-small", LLAMA, batch=1, seq=1024, loss="trl")
    yield setup("trl-llama-large", LLAMA, batch=16, seq=1024, loss="trl", checkpointing=True)


def weights_cases():
    for kind, head, config, more in (("llama", "causal-lm", LLAMA, {}), ("gpt2", "causal-lm", dict(model_type="gpt2"), {}),
                                     ("bert", "masked-lm", dict(model_type="bert"), {}), ("t5", "seq2seq-lm", T5, dict(target_seq=128))):
        for weights in ("", "bf16", "fp16"):  # T5 fails with float16: its mask uses float32's lowest number
            name = "weights-%s-%s" % (kind, weights or "fp32")
            yield setup(name, config, head, optimizer="adamw-fused", clip=True, **more, **({"weights": weights} if weights else {}))
    yield setup("weights-llama-ckpt", LLAMA, weights="bf16", checkpointing=True)
    yield setup("weights-llama-accum", LLAMA, weights="bf16", accumulation=2)


def shard_cases():
    for kind, load in ("fsdp2", "whole"), ("fsdp2", "sharded"), ("fsdp2", "meta"), ("zero1-deepspeed", ""), ("zero2", ""), ("zero3", "whole"), ("zero3", "sharded"):
        for accumulation in 1, 2:
            parts = dict(kind=kind, world=WORLD, **({"load": "whole" if load == "whole" else "sharded"} if load else {}))
            name = "-".join(["shard", kind] + [load] * bool(load) + ["accum"] * (accumulation > 1))
            yield setup(name, TINY, batch=2, seq=1024, precision="bf16", accumulation=accumulation, dist=parts)


def liger_cases():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases", "liger.jsonl")) as f:
        for line in f:
            yield json.loads(line)


def build(s):
    """Returns the model on the GPU, with weights of the setup's type."""
    import torch, transformers
    config = dict(s["model"]["config"])
    config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    auto = {"causal-lm": "AutoModelForCausalLM", "masked-lm": "AutoModelForMaskedLM", "seq2seq-lm": "AutoModelForSeq2SeqLM"}[s["model"]["head"]]
    held = TYPES.get(s.get("weights") or s["precision"], "float32")
    torch.set_default_dtype(getattr(torch, held))
    with torch.device("cuda"):
        model = getattr(transformers, auto).from_config(config, **({"attn_implementation": s["attention"]} if "attention" in s else {}))
    torch.set_default_dtype(torch.float32)
    if s.get("loss") == "trl":
        from trl.trainer.utils import add_fused_lm_head
        add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))
    if "liger" in s:
        from liger_kernel.transformers import _apply_liger_kernel_to_instance
        gate = "geglu" if config.model_type.startswith("gemma") else "swiglu"
        _apply_liger_kernel_to_instance(model=model, cross_entropy=False, fused_linear_cross_entropy=s.get("loss") == "liger",
                                        **{"rope": "rope" in s["liger"], "rms_norm": "norm" in s["liger"], gate: "mlp" in s["liger"]})
    if s.get("checkpointing"):
        model.gradient_checkpointing_enable()
    model.config.use_cache = False
    return model.train()


def loss_of(s, model, batch):
    """The model's own loss, or TRL's SFTTrainer loss with its fused head."""
    if s.get("loss") != "trl":
        return model(**batch).loss
    out = model(**batch, fused_lm_head=True)
    loss = -out.log_probs
    loss = loss.sum() / out.label_mask.sum().clamp(min=1)
    seen = out.label_mask.sum().sum()
    (out.entropy.detach().sum().sum() / seen).item()
    (out.is_top1.sum().sum() / seen).item()
    return loss


def train(s):
    """One process on one GPU."""
    import torch
    model = build(s)
    params = list(model.parameters())
    opt = torch.optim.AdamW(params, lr=1e-4, **({"fused": True} if s["optimizer"] == "adamw-fused" else {}))
    amp = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(s["precision"])
    scaler = torch.amp.GradScaler("cuda", enabled=amp is torch.float16)
    vocab, micros = model.config.vocab_size, s.get("accumulation", 1)
    for _ in range(3):
        for _ in range(micros):
            ids = torch.randint(0, vocab, (s["batch"], s["seq"]), device="cuda")
            batch = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
            batch["labels"] = torch.randint(0, vocab, (s["batch"], s["target_seq"]), device="cuda") if "target_seq" in s else ids.clone()
            del ids
            with torch.autocast("cuda", dtype=amp, enabled=amp is not None):
                loss = loss_of(s, model, batch)
            scaler.scale(loss / micros).backward()
            del loss, batch
        if s.get("clip"):
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)


def train_shard(s):
    """The first of several processes."""
    import torch, torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from transformers import LlamaConfig, LlamaForCausalLM
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD)
    config = {k: v for k, v in s["model"]["config"].items() if k != "model_type"}
    micros, deepspeed = s["accumulation"], s["dist"]["kind"] != "fsdp2"
    model, step = (under_deepspeed if deepspeed else under_fsdp2)(s, lambda: LlamaForCausalLM(LlamaConfig(**config)))
    torch.set_default_dtype(torch.float32)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    for _ in range(3):
        for _ in range(micros):
            ids = torch.randint(0, config["vocab_size"], (s["batch"], s["seq"]), device="cuda")
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
            if deepspeed:
                model.backward(loss)
                model.step()
            else:
                (loss / micros).backward()
            del loss, ids
        step()


def under_fsdp2(s, make):
    import torch
    from torch.distributed.fsdp import fully_shard
    torch.set_default_dtype(torch.bfloat16)
    meta = "meta" in s["id"]
    with torch.device("meta" if meta else "cuda" if s["dist"]["load"] == "whole" else "cpu"):
        model = make()
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    if meta:
        model.to_empty(device="cuda")
        for m in model.modules():  # to_empty leaves buffers uninitialized
            if hasattr(m, "inv_freq"):
                m.inv_freq.fill_(0.01)
        for p in model.parameters():
            torch.nn.init.normal_(p, std=0.02)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        opt.step()
        opt.zero_grad(set_to_none=True)
    return model, step


def under_deepspeed(s, make):
    import contextlib, deepspeed, torch
    torch.set_default_dtype(torch.bfloat16)
    deepspeed.init_distributed(dist_init_required=False, verbose=False)
    config = {"train_micro_batch_size_per_gpu": s["batch"], "gradient_accumulation_steps": s["accumulation"], "zero_allow_untested_optimizer": True,
              "bf16": {"enabled": True}, "zero_optimization": {"stage": int(s["dist"]["kind"][4])}}
    sharded = s["dist"].get("load") == "sharded"
    with deepspeed.zero.Init(config_dict_or_path=config) if sharded else contextlib.nullcontext():
        model = make()
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), config=config)
    return engine, lambda: None


def measure(s):
    import torch
    torch.manual_seed(0)
    torch.cuda.init()
    torch.empty(1, device="cuda")
    (train_shard if "dist" in s else train)(s)
    torch.cuda.synchronize()
    return dict(peak_allocated=torch.cuda.max_memory_allocated(), peak_reserved=torch.cuda.max_memory_reserved())


def child(s, out):
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(WORLD), MASTER_ADDR="127.0.0.1", MASTER_PORT="29778")
    try:
        took = measure(s)
    except Exception:
        print(s["id"], "cannot run:", traceback.format_exc().strip().splitlines()[-1], flush=True)
        return
    print(s["id"], took, flush=True)
    with open(out, "a") as f:
        f.write(json.dumps(dict(setup=s, measured=took)) + "\n")


if __name__ == "__main__":
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for cases in trl_cases, liger_cases, weights_cases, shard_cases:
        for s in cases():
            if word in s["id"]:
                p = mp.get_context("spawn").Process(target=child, args=(s, sys.argv[1]))
                p.start()
                p.join()
