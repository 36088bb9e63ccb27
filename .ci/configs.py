"""Changes each fixture with snug, reads the result with the library that would read it,
and takes the change back. Usage: configs.py SNUG FOLDER"""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import types
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.simplefilter("ignore")


def hf(folder, name):
    """transformers' HfArgumentParser over the fields of TrainingArguments. Its checks
    need PyTorch, so they are left out."""
    from transformers import HfArgumentParser, TrainingArguments

    @dataclasses.dataclass
    class Arguments(TrainingArguments):
        def __post_init__(self):
            pass

    parser = HfArgumentParser(Arguments)
    read = parser.parse_json_file if name.endswith(".json") else parser.parse_yaml_file
    (got,) = read(str(folder / name), allow_extra_keys=True)
    return vars(got)


ACCELERATE = """
import importlib.abc, importlib.machinery, importlib.metadata, json, sys, unittest.mock

class Standin(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "torch":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        module = unittest.mock.MagicMock(name=spec.name, __version__="2.9.0", __path__=[], __all__=[])
        module.nn.Module = module.Tensor = module.device = module.Generator = module.utils.data.DataLoader = object
        return module
    def exec_module(self, module):
        pass

try:
    import torch
except ImportError:
    sys.meta_path.insert(0, Standin())
    version = importlib.metadata.version
    importlib.metadata.version = lambda name: "2.9.0" if name == "torch" else version(name)
from accelerate.commands.config.config_args import load_config_from_file
print(json.dumps(vars(load_config_from_file(sys.argv[1])), default=str))
"""


def accelerate(folder, name):
    """accelerate's own loader. It imports PyTorch without needing it here, so that a
    stand-in will do; in a process of its own, where that misleads nobody."""
    done = subprocess.run([sys.executable, "-c", ACCELERATE, str(folder / name)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def hydra(folder, name):
    from hydra import compose, initialize_config_dir

    path = folder / name
    with initialize_config_dir(str(path.parent), version_base="1.3"):
        config = compose(path.stem)
    return {key: {k: config[key].get(k) for k in config[key] if k != "data_dir"} for key in ("data", "trainer", "net") if key in config}


def omegaconf(folder, name):
    from omegaconf import OmegaConf

    return OmegaConf.to_container(OmegaConf.load(folder / name), resolve=True)


def lightning(folder, name):
    """LightningCLI's parser: jsonargparse with the Trainer's arguments, a model and data."""
    from jsonargparse import ArgumentParser

    class Trainer:
        def __init__(self, accelerator: str = "auto", devices: int = 1, strategy: str = "auto", precision: str = "32-true",
                     max_epochs: int = 1, accumulate_grad_batches: int = 1, gradient_clip_val: float = 0.0):
            pass

    class Model:
        pass

    class Data:
        pass

    class Tagger(Model):
        def __init__(self, lr: float, model_name: str):
            pass

    class Tagging(Data):
        def __init__(self, batch_size: int, num_workers: int, max_length: int):
            pass

    for module, cls in (("models", Tagger), ("data", Tagging)):
        cls.__module__, cls.__qualname__ = module, cls.__name__
        sys.modules[module] = types.ModuleType(module)
        setattr(sys.modules[module], cls.__name__, cls)
    parser = ArgumentParser()
    parser.add_argument("--seed_everything", type=int)
    parser.add_argument("--ckpt_path")
    parser.add_class_arguments(Trainer, "trainer")
    parser.add_subclass_arguments(Model, "model")
    parser.add_subclass_arguments(Data, "data")
    return parser.parse_path(str(folder / name)).as_dict()


def yaml(folder, name):
    import yaml as library

    return library.safe_load((folder / name).read_text())


def toml(folder, name):
    return tomllib.loads((folder / name).read_text())


def hjson(folder, name):
    """DeepSpeed reads its file with hjson."""
    import hjson as library

    return library.loads((folder / name).read_text())


def plain_json(folder, name):
    return json.loads((folder / name).read_text())


def assignments(folder, name):
    """nanoGPT's configurator runs the file."""
    values = {}
    exec((folder / name).read_text(), values)
    return values


def shell(folder, name):
    """bash runs the script; stand-ins for its programs write down what they were given."""
    bin = folder / "stand-ins"
    bin.mkdir()
    for program in ("torchrun", "python"):
        (bin / program).write_text('#!/bin/sh\nfor a in "$@"; do echo "$a"; done > ' + str(folder / "arguments") + "\n")
        (bin / program).chmod(0o755)
    subprocess.run(["bash", name], cwd=folder, check=True, env={**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"})
    words = (folder / "arguments").read_text().splitlines()
    shutil.rmtree(bin)
    (folder / "arguments").unlink()
    flags = {}
    for i, word in enumerate(words):
        if word.startswith("--"):
            flag, _, value = word.partition("=")
            flags[flag] = value or words[i + 1]
    return flags


# fixture: [(file, reader, {path: value})]
CASES = {
    "hf": [("args.json", hf, {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 16, "bf16": True, "fp16": False, "gradient_checkpointing": True}),
           ("ds.json", hjson, {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})],
    "hf_yaml": [("train.yaml", yaml, {"per_device_train_batch_size": "16", "gradient_accumulation_steps": "2"})],
    "hf_yaml_absent": [("train.yaml", hf, {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 2, "gradient_checkpointing": True})],
    "trl": [("sft.yaml", hf, {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16, "gradient_checkpointing": False}),
            ("sft.yaml", yaml, {"max_length": 2048})],
    "accelerate": [("accelerate.yaml", accelerate, {"deepspeed_config.gradient_accumulation_steps": 8, "num_processes": 4, "mixed_precision": "bf16"}),
                   ("train.json", hf, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 8})],
    "deepspeed": [("ds_config.json", hjson, {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})],
    "deepspeed_two_files": [("train.yaml", hf, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 8}),
                            ("conf/ds.json", plain_json, {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "train_batch_size": 128})],
    "lightning": [("config.yaml", lightning, {"trainer.accumulate_grad_batches": 4, "trainer.precision": "bf16-mixed", "data.init_args.batch_size": 24, "data.init_args.num_workers": 4})],
    "hydra": [("configs/train.yaml", hydra, {"data.batch_size": 32, "data.val_batch_size": 32, "data.num_workers": 2, "trainer.accumulate_grad_batches": 4, "trainer.precision": "bf16-mixed", "trainer.devices": 4})],
    "hydra_groups": [("conf/config.yaml", hydra, {"data.batch_size": 12, "data.num_workers": 3, "trainer.accumulate_grad_batches": 6, "trainer.precision": "bf16-true", "net.kernel.attn_implementation": "sdpa"})],
    "axolotl": [("qlora.yml", yaml, {"micro_batch_size": 1, "gradient_accumulation_steps": 8, "gradient_checkpointing": "offload", "sequence_len": 2048, "deepspeed": "zero2.json"}),
                ("zero2.json", plain_json, {"gradient_accumulation_steps": 8, "train_batch_size": "auto"}),
                ("deepspeed_configs/zero2.json", plain_json, {"gradient_accumulation_steps": 4})],
    "llama_factory": [("llama3_lora_sft.yaml", hf, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}),
                      ("llama3_lora_sft.yaml", yaml, {"disable_gradient_checkpointing": False})],
    "torchtune": [("1B_lora.yaml", omegaconf, {"batch_size": 2, "gradient_accumulation_steps": 16, "enable_activation_checkpointing": True, "tokenizer.max_seq_len": 4096})],
    "composer": [("dolly.yaml", omegaconf, {"device_train_microbatch_size": 4, "global_train_batch_size": 48, "train_loader.dataset.max_seq_len": 2048})],
    "nanotron": [("config_tiny.yaml", yaml, {"tokens.micro_batch_size": 4, "tokens.batch_accumulation_per_replica": 2, "parallelism.recompute_layer": True, "data_stages.1.data.num_loading_workers": 2})],
    "torchtitan": [("llama3_8b.toml", toml, {"training.local_batch_size": 2, "training.seq_len": 4096, "activation_checkpoint.mode": "full"})],
    "ultralytics": [("yolo.yaml", yaml, {"batch": 32, "nbs": 64, "workers": 4})],
    "kohya": [("lora.toml", toml, {"training.train_batch_size": 2, "training.gradient_accumulation_steps": 2, "training.mixed_precision": "bf16", "training.gradient_checkpointing": True})],
    "kohya_datasets": [("dataset.toml", toml, {"datasets.0.batch_size": 3, "datasets.1.batch_size": 2})],
    "nanogpt": [("config/train_gpt2.py", assignments, {"batch_size": 6, "block_size": 512, "gradient_accumulation_steps": 40})],
    "shell": [("train.sh", shell, {"--per_device_train_batch_size": "4", "--gradient_accumulation_steps": "4", "--bf16": "True", "--fp16": "False", "--dataloader_num_workers": "8"})],
    "shell_seed_000": [("train.sh", shell, {"--batch-size": "256", "--accumulation-steps": "4", "--num-workers": "4"})],
    "shell_seed_004": [("train_t4.sh", shell, {"--batch-size": "32", "--max-length": "128", "--context-dim": "512"})],
    "plain_curriculum": [("conf/config.yaml", omegaconf, {"data_loader.batch_size": 45, "training.trainer.accumulate_grad_batches": 5}),
                         ("conf/text_curriculum/01_stage.yaml", omegaconf, {"n_negatives": 16}),
                         ("conf/text_curriculum/02_stage.yaml", omegaconf, {"n_negatives": 8})],
    "plain_schedule": [("gesture.yaml", yaml, {"OPTIMIZER.gradient_accumulation.scheduling": {0: 2, 4: 1, 8: 1}, "DATA.dataloader.batch_size": 2, "TRAINING.precision": "bf16-mixed"})],
    "plain_low_memory": [("training/configs/pretrain_512m_low_memory.yaml", yaml, {"micro_batch_size": 4, "gradient_accumulation_steps": 16, "max_seq_len": 1536})],
    "preset_beside": [("train/qwen.yaml", hf, {"per_device_train_batch_size": 2, "deepspeed": "ds_z2.json", "fp16": True, "bf16": False}),
                      ("train/ds_z2.json", hjson, {"train_micro_batch_size_per_gpu": 2, "fp16.enabled": True})],
    "own": [("settings.toml", toml, {"loader.n": 10, "loader.keep_activations": False}), ("model.yaml", yaml, {"net.type": "bfloat16"})],
}


def unpack(archive, folder):
    """The files of a fixture, and what its comment says to set."""
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


def check(snug, archive, expected):
    """One fixture there and back; the list of what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        files, options = unpack(archive, folder)
        command = [snug, "apply", "--yes", "--set", options["set"].replace(" ", ",")]
        for path in options.get("main", "").split():
            command += ["--config-path", path]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            return [f"snug apply: {done.stderr.strip()}"]
        wrong = []
        for file, reader, values in expected:
            try:
                got = reader(folder, file)
                for path, want in values.items():
                    if look(got, path) != want:
                        wrong.append(f"{file}: {path} is {look(got, path)!r} and should be {want!r}")
            except Exception as err:  # whatever a library says about the file
                wrong.append(f"{file}: {reader.__name__}: {type(err).__name__}: {err}")
        done = subprocess.run([snug, "revert"], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"snug revert: {done.stderr.strip()}")
        left = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and ".snug" not in p.parts}
        if left != files:
            wrong.append(f"after snug revert: {sorted(k for k in left.keys() | files.keys() if left.get(k) != files.get(k))} differ")
        return wrong


def main():
    snug, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    failed, readings = 0, 0
    for archive in sorted(folder.glob("*.txtar")):
        if archive.stem not in CASES:
            failed += 1
            print(f"configs: {archive.stem} is read by no library here; add it to CASES")
            continue
        readings += len(CASES[archive.stem])
        for line in check(snug, archive, CASES[archive.stem]):
            failed += 1
            print(f"configs: {archive.stem}: {line}")
    print(f"configs: {len(CASES)} projects changed, {readings} files read by their libraries, reverted; {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
