"""Runs a program as one of several processes that train together: ranks.py [KIND WORLD] PROGRAM ARGS...

Without a KIND the trainer wraps the model in DDP for a single process: DDP's buckets do not depend on their number. Gloo needs
no GPU of its own, as the stand-in has none. A KIND is ddp, fsdp1, fsdp2, zero1, zero2 or zero3, as accelerate's launcher starts
it with the files that TRL and the alignment handbook have for it. The process is then the first of WORLD, and its collectives
do nothing."""
import os
import runpy
import sys
import tempfile

KINDS = {
    "ddp": {},
    "fsdp": {"ACCELERATE_USE_FSDP": "true", "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP", "FSDP_BACKWARD_PREFETCH": "BACKWARD_PRE", "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
             "FSDP_FORWARD_PREFETCH": "false", "FSDP_OFFLOAD_PARAMS": "false", "FSDP_STATE_DICT_TYPE": "SHARDED_STATE_DICT", "FSDP_SYNC_MODULE_STATES": "true", "FSDP_USE_ORIG_PARAMS": "true"},
    "zero": {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE": "none", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE": "none",
             "ACCELERATE_DEEPSPEED_ZERO3_INIT": "true", "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL": "true"},
}


def compiler():
    """Makes a folder like that of CUDA's compiler, of which DeepSpeed reads the version but uses nothing."""
    home = tempfile.mkdtemp()
    os.makedirs(os.path.join(home, "bin"))
    path = os.path.join(home, "bin", "nvcc")
    with open(path, "w") as f:
        f.write("#!/bin/sh\necho Cuda compilation tools, release 13.0, V13.0.0\n")
    os.chmod(path, 0o755)
    return home


def environment(kind, world):
    env = {"WORLD_SIZE": str(world), "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "CUDA_HOME": compiler()}
    if kind.startswith("fsdp"):
        env |= KINDS["fsdp"] | {"FSDP_VERSION": kind[4:]}
        env["FSDP_RESHARD_AFTER_FORWARD"] = "true" if kind == "fsdp2" else "FULL_SHARD"
    elif kind.startswith("zero"):
        env |= KINDS["zero"] | {"ACCELERATE_DEEPSPEED_ZERO_STAGE": kind[4:]}
    return env


def join(kind, world):
    import torch.distributed

    os.environ.update(environment(kind, world))
    if kind:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
        gather = torch.distributed.all_gather_into_tensor

        def flat(output_tensor, input_tensor, *args, **kwargs):  # the process group copies a tensor into a flat one only if it is flat too
            return gather(output_tensor, input_tensor.view(-1) if output_tensor.dim() == 1 else input_tensor, *args, **kwargs)

        torch.distributed.all_gather_into_tensor = flat
        return
    import accelerate

    torch.distributed.all_gather_into_tensor = lambda output_tensor, input_tensor, *args, **kwargs: output_tensor.copy_(input_tensor.view(output_tensor.shape))  # Gloo has none for a GPU
    accelerate.Accelerator.multi_device = True  # accelerate wraps no model for a single process
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)


def main():
    kind, world, rest = "", 1, sys.argv[1:]
    if not rest[0].endswith(".py"):
        kind, world, rest = rest[0], int(rest[1]), rest[2:]
    join(kind, world)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), rest[0])
    sys.argv = [program] + rest[1:]
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


main()
