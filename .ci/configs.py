"""Changes each fixture with snug, reads the result with the library that would read it,
and reverts the change. Usage: configs.py SNUG FOLDER"""
import collections
import importlib.metadata
import multiprocessing
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from functools import partial

os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", DS_ACCELERATOR="cpu", CUDA_VISIBLE_DEVICES="")
warnings.simplefilter("ignore")

from readers import accelerate, assigned, bash, deepspeed, hf, hf_flags, hjson, hydra, lightning, nanogpt, omegaconf, parsed, plain_json, preload, script, toml, trl, yaml

# The package of each reader, or the Python module.
LIBRARIES = {accelerate: "accelerate", deepspeed: "deepspeed", hf: "transformers", hf_flags: "transformers", hjson: "hjson",
             hydra: "hydra-core", lightning: "lightning", omegaconf: "omegaconf", trl: "trl", yaml: "pyyaml",
             toml: "tomllib", plain_json: "json", nanogpt: "exec", assigned: "ast", parsed: "argparse", script: "transformers", bash: "bash"}

# fixture: [(file, reader, {path: value})]
CASES = {
    "hf": [("args.json", hf, {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 16, "bf16": True, "fp16": False, "gradient_checkpointing": True,
                               "ds.train_micro_batch_size_per_gpu": 4, "ds.gradient_accumulation_steps": 16, "ds.bf16.enabled": True, "ds.mismatches": []}),
           ("ds.json", hjson, {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})],
    "hf_zero1": [("ds_z1.json", hjson, {"zero_optimization.stage": 3, "train_micro_batch_size_per_gpu": "auto"})],
    "script_optim": [("train.py", script, {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "optim": "adamw_torch_fused"})],
    "script_trainer": [("sft.py", script, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "gradient_checkpointing": True})],
    "hf_yaml": [("train.yaml", hf, {"per_device_train_batch_size": "16", "gradient_accumulation_steps": "2", "bf16": True}),
                ("train.yaml", yaml, {"batch": "16"})],
    "hf_yaml_absent": [("train.yaml", hf, {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 2, "gradient_checkpointing": True})],
    "trl": [("sft.yaml", trl, {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16, "gradient_checkpointing": False, "bf16": True, "max_length": 2048, "lora_r": 16})],
    "accelerate": [("accelerate.yaml", accelerate, {"deepspeed_config.gradient_accumulation_steps": 8, "num_processes": 4, "mixed_precision": "bf16",
                                                        "launch.gradient_accumulation_steps": 8, "launch.num_processes": 4, "launch.zero_stage": 2,
                                                        "env.ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "8", "env.ACCELERATE_MIXED_PRECISION": "bf16"}),
                   ("train.json", hf, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 8})],
    "fsdp_trl": [("sft.yaml", trl, {"gradient_checkpointing": False}), ("fsdp.yaml", accelerate, {"fsdp_config.fsdp_activation_checkpointing": False})],
    "fsdp_both": [("sft.yaml", trl, {"gradient_checkpointing": True}), ("fsdp.yaml", accelerate, {"fsdp_config.fsdp_activation_checkpointing": False})],
    "fsdp_either": [("sft.yaml", trl, {"gradient_checkpointing": False}), ("fsdp.yaml", accelerate, {"fsdp_config.fsdp_activation_checkpointing": False})],
    "fsdp_one": [("sft.yaml", trl, {"gradient_checkpointing": True}), ("fsdp.yaml", accelerate, {"fsdp_config.fsdp_activation_checkpointing": False})],
    "fsdp_flags": [("run.sh", hf_flags, {"per_device_train_batch_size": 8, "gradient_checkpointing": True}), ("fsdp.yaml", accelerate, {"fsdp_config.fsdp_activation_checkpointing": False})],
    "deepspeed": [("ds_config.json", partial(deepspeed, gpus=4), {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})],
    "deepspeed_two_files": [("train.yaml", partial(hf, gpus=8), {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 8, "ds.train_batch_size": 128, "ds.mismatches": []}),
                            ("conf/ds.json", partial(deepspeed, gpus=8), {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "train_batch_size": 128})],
    "lightning": [("config.yaml", lightning, {"trainer.accumulate_grad_batches": 4, "trainer.precision": "bf16-mixed", "data.batch_size": 24, "data.num_workers": 4, "step.shape": [24, 4], "step.dtype": "torch.bfloat16"})],
    "hydra": [("configs/train.yaml", hydra, {"data.batch_size": 32, "data.val_batch_size": 32, "data.num_workers": 2, "trainer.accumulate_grad_batches": 4, "trainer.precision": "bf16-mixed", "trainer.devices": 4})],
    "hydra_groups": [("conf/config.yaml", hydra, {"data.batch_size": 12, "data.num_workers": 3, "trainer.accumulate_grad_batches": 6, "trainer.precision": "bf16-true", "net.kernel.attn_implementation": "sdpa"})],
    "axolotl": [("qlora.yml", yaml, {"micro_batch_size": 1, "gradient_accumulation_steps": 8, "gradient_checkpointing": "offload", "sequence_len": 2048, "deepspeed": "zero2.json"}),
                ("zero2.json", plain_json, {"gradient_accumulation_steps": 8, "train_batch_size": "auto"}),
                ("deepspeed_configs/zero2.json", plain_json, {"gradient_accumulation_steps": 4})],
    "axolotl_linear": [("lora.yml", yaml, {"micro_batch_size": 2, "gradient_accumulation_steps": 4, "eval_sequence_len": 2048})],
    "axolotl_full": [("full.yml", yaml, {"micro_batch_size": 1, "bf16": False})],
    "llama_factory": [("llama3_lora_sft.yaml", hf, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}),
                      ("llama3_lora_sft.yaml", yaml, {"disable_gradient_checkpointing": False})],
    "llama_factory_qlora": [("qlora.yaml", hf, {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16}), ("qlora.yaml", yaml, {"quantization_bit": 4})],
    "oumi": [("train.yaml", omegaconf, {"training.per_device_train_batch_size": 4, "training.gradient_accumulation_steps": 4, "training.enable_gradient_checkpointing": False})],
    "litgpt": [("lora.yaml", yaml, {"train.micro_batch_size": 4, "train.global_batch_size": 16})],
    "swift": [("sft.yaml", yaml, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "gradient_checkpointing": False, "deepspeed": "zero2"})],
    "torchtune": [("1B_lora.yaml", omegaconf, {"batch_size": 2, "gradient_accumulation_steps": 16, "enable_activation_checkpointing": True, "tokenizer.max_seq_len": 4096})],
    "composer": [("dolly.yaml", omegaconf, {"device_train_microbatch_size": 4, "global_train_batch_size": 48, "train_loader.dataset.max_seq_len": 2048})],
    "olmo_checkpointing": [("configs/OLMo2-tiny.yaml", omegaconf, {"device_train_microbatch_size": 8, "activation_checkpointing": None})],
    "shell_olmo_overrides": [("run.sh", bash, {"--device_train_microbatch_size": "2", "--activation_checkpointing": "whole_layer"}),
                             ("configs/OLMo2-tiny.yaml", omegaconf, {"device_train_microbatch_size": 2})],
    "olmo": [("OLMo2-tiny.yaml", omegaconf, {"device_train_microbatch_size": 4, "global_train_batch_size": 64, "activation_checkpointing": "whole_layer"})],
    "gpt_neox": [("tiny.yml", yaml, {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "checkpoint-activations": True})],
    "nanotron": [("config_tiny.yaml", yaml, {"tokens.micro_batch_size": 4, "tokens.batch_accumulation_per_replica": 2, "parallelism.recompute_layer": True, "data_stages.1.data.num_loading_workers": 2})],
    "torchtitan": [("llama3_8b.toml", toml, {"training.local_batch_size": 2, "training.seq_len": 4096, "activation_checkpoint.mode": "full"})],
    "ultralytics": [("yolo.yaml", yaml, {"batch": 32, "nbs": 64, "workers": 4})],
    "kohya": [("lora.toml", toml, {"training.train_batch_size": 2, "training.gradient_accumulation_steps": 2, "training.mixed_precision": "bf16", "training.gradient_checkpointing": True})],
    "kohya_datasets": [("dataset.toml", toml, {"datasets.0.batch_size": 3, "datasets.1.batch_size": 2})],
    "kohya_insert": [("lora.toml", toml, {"training_arguments.gradient_accumulation_steps": 2, "training_arguments.mixed_precision": "bf16",
                                          "training_arguments.gradient_checkpointing": True, "training_arguments.optimizer_type": "AdamW"})],
    "nanogpt_stock": [("train.py", assigned, {"batch_size": 6, "block_size": 1024})],
    "nanogpt": [("config/train_gpt2.py", nanogpt, {"batch_size": 6, "block_size": 512, "gradient_accumulation_steps": 40})],
    "shell": [("train.sh", bash, {"--nproc_per_node": "2", "--block_size": "512"}),
              ("train.sh", hf_flags, {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4, "bf16": True, "fp16": False, "dataloader_num_workers": 8})],
    "shell_hf": [("run.sh", hf_flags, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "bf16": True, "gradient_checkpointing": False})],
    "shell_hf_dtype": [("run.sh", hf_flags, {"per_device_train_batch_size": 2, "bf16": True})],
    "shell_hf_said": [("run.sh", hf_flags, {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "optim": "sgd", "max_grad_norm": 0.0, "gradient_checkpointing": True})],
    "deepspeed_chat": [("run.sh", bash, {"--per_device_train_batch_size": "2", "--gradient_accumulation_steps": "8"})],
    "llama_factory_v1_full": [("full.yaml", yaml, {"micro_batch_size": 2, "enable_activation_checkpointing": False})],
    "shell_arrays": [("run.sh", bash, {"--per_device_train_batch_size": "4", "--gradient_accumulation_steps": "2", "--block_size": "512"})],
    "shell_llama_factory": [("train.sh", bash, {"--per_device_train_batch_size": "2", "--gradient_accumulation_steps": "4"})],
    "shell_program_settings": [("run.sh", bash, {"--batch_size": "4"})],
    "shell_several": [("run.sh", bash, {"--per_device_train_batch_size": "4", "--gradient_accumulation_steps": "4", "--max_seq_length": "4096"})],
    "shell_sourced": [("run.slurm", bash, {"--gradient_accumulation_steps": "4"})],
    "shell_swift_lora": [("train.sh", bash, {"--per_device_train_batch_size": "4", "--gradient_accumulation_steps": "2"})],
    "starts_flags": [("conf/sft.yaml", yaml, {"per_device_train_batch_size": 8}), ("run.sh", bash, {"--per_device_train_batch_size": "8", "--max_length": "256"})],
    "shell_optim": [("run.sh", bash, {"--batch-size": "8", "--optim": "AdamW"})],
    "shell_seed_000": [("train.sh", bash, {"--batch-size": "256", "--accumulation-steps": "4", "--num-workers": "4"})],
    "shell_seed_004": [("train_t4.sh", bash, {"--batch-size": "32", "--max-length": "128", "--context-dim": "512"})],
    "plain_curriculum": [("conf/config.yaml", omegaconf, {"data_loader.batch_size": 45, "training.trainer.accumulate_grad_batches": 5}),
                         ("conf/text_curriculum/01_stage.yaml", omegaconf, {"n_negatives": 16}),
                         ("conf/text_curriculum/02_stage.yaml", omegaconf, {"n_negatives": 8})],
    "plain_schedule": [("gesture.yaml", yaml, {"OPTIMIZER.gradient_accumulation.scheduling": {0: 2, 4: 1, 8: 1}, "DATA.dataloader.batch_size": 2, "TRAINING.precision": "bf16-mixed"})],
    "plain_low_memory": [("training/configs/pretrain_512m_low_memory.yaml", yaml, {"micro_batch_size": 4, "gradient_accumulation_steps": 16, "max_seq_len": 1536})],
    "preset_beside": [("train/qwen.yaml", hf, {"per_device_train_batch_size": 2, "deepspeed": "ds_z2.json", "fp16": True, "bf16": False,
                                              "ds.train_micro_batch_size_per_gpu": 2, "ds.gradient_accumulation_steps": 8, "ds.fp16.enabled": True, "ds.mismatches": []}),
                      ("train/ds_z2.json", hjson, {"gradient_accumulation_steps": "auto"})],
    "own_flags": [("run.sh", bash, {"--batch": "2", "--accum": "16", "--seq": "1024"})],
    "own_flags_alone": [("train.py", parsed, {"batch": 2, "accum": 16})],
    "own_flags_renamed": [("run.sh", bash, {"--nb": "2", "--k": "16"})],
    "own_launched": [("run.sh", bash, {"--mixed_precision": "fp16", "--num_processes": "1"})],
    "own_hf": [("run.sh", hf_flags, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 1})],
    "own": [("settings.toml", toml, {"loader.n": 10, "loader.keep_activations": False}), ("model.yaml", yaml, {"net.type": "bfloat16"})],
}


def unpack(archive, folder):
    """Returns the files of a fixture, and the settings in its comment."""
    parts = re.split(r"^-- (\S+) --\n", archive.read_text(), flags=re.M)
    options = dict(line.split(": ", 1) for line in parts[0].splitlines() if re.match(r"(set|main|crlf): ", line))
    files = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        if name in ("found", "setup", "diff", "notes", "error"):
            continue
        data = text.encode()
        if name in options.get("crlf", "").split():
            data = data.replace(b"\n", b"\r\n")
        files[name] = data
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return files, options


def look(value, path):
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def compare(pipe, folder, file, reader, values):
    """Reads the file, in a separate process, and reports what is wrong with it."""
    os.chdir(folder)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    wrong = []
    try:
        got = reader(pathlib.Path(file))
        for path, want in values.items():
            if (value := look(got, path)) != want or type(value) is not type(want):
                wrong.append(f"{file}: {path} is {value!r} and should be {want!r}")
    except (Exception, SystemExit) as err:  # any error that the library raises for the file
        wrong.append(f"{file}: {type(err).__name__}: {err}")
    pipe.send(wrong)
    pipe.close()
    os._exit(0)


def read(folder, file, reader, values):
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=compare, args=(theirs, folder, file, reader, values))
    child.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return [f"{file}: its library ended the process"]
    finally:
        child.join()


def check(snug, archive, expected):
    """Changes and reverts one fixture, and returns a list of problems."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        files, options = unpack(archive, folder)
        command = [snug, "apply", "--yes", "--set", options["set"].replace(" ", ",")]
        for path in options.get("main", "").split():
            command += ["--config-path", path]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            return [f"snug apply: {done.stderr.strip()}"]
        wrong = [line for case in expected for line in read(folder, *case)]
        done = subprocess.run([snug, "revert"], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"snug revert: {done.stderr.strip()}")
        left = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and ".snug" not in p.parts}
        if left != files:
            wrong.append(f"after snug revert: {sorted(k for k in left.keys() | files.keys() if left.get(k) != files.get(k))} differ")
        return wrong


def named(reader):
    """Returns the library with its version, or Python's version for the standard library."""
    library = LIBRARIES[getattr(reader, "func", reader)]
    try:
        return f"{library} {importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:
        return library if library == "bash" else f"{library} (Python {platform.python_version()})"


def main():
    snug, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    preload()
    failed, readings = 0, collections.Counter()
    for archive in sorted(folder.glob("*.txtar")):
        if archive.stem not in CASES and not re.search(r"^set: ", archive.read_text(), flags=re.M):
            continue  # the fixture changes no settings
        if archive.stem not in CASES:
            failed += 1
            print(f"configs: {archive.stem} is not read by any library here; add it to CASES")
            continue
        readings.update(named(reader) for _, reader, _ in CASES[archive.stem])
        for line in check(snug, archive, CASES[archive.stem]):
            failed += 1
            print(f"configs: {archive.stem}: {line}")
    for library, count in sorted(readings.items()):
        print(f"{count:4} read by {library}")
    print(f"configs: {len(CASES)} projects changed, {readings.total()} files read by their libraries, reverted; {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
