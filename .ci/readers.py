"""Reads a config file with the library that would read it in a training run. Each reader
takes the path of a file and returns what the library sees; the settings of a run are read
from the library's own objects. Each is called in a separate process, in the project's
folder, because these libraries keep a lot of global state."""
import argparse
import ast
import dataclasses
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import types


def preload():
    """Imports the slow modules, once for all processes."""
    logging.disable(logging.WARNING)
    import accelerate.commands.launch
    import deepspeed
    import hydra
    import lightning.pytorch.cli
    import transformers.training_args
    import trl.trainer.sft_config


def pretend(gpus):
    """Makes this the first process of a run on that many GPUs: PyTorch's fake backend reports
    the number of processes and sends nothing."""
    import deepspeed
    import torch.distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=gpus)
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(gpus), MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    deepspeed.ops.__compatible_ops__.clear()  # otherwise it compiles a library for communication
    deepspeed.init_distributed("fake")


def on_cpu(arguments):
    """Returns the class with use_cpu set by default: without it, TrainingArguments refuses
    bf16 on a machine without a GPU. All its checks still run."""
    return dataclasses.make_dataclass("OnCPU", [("use_cpu", bool, True)], bases=(arguments,))


def training_arguments(got):
    """Returns the fields, and under "ds" DeepSpeed's file as transformers completes it, with
    the values that contradict the arguments."""
    values = {**vars(got), "optim": getattr(got.optim, "value", got.optim)}
    if got.deepspeed:
        values["ds"] = {**got.hf_deepspeed_config.config, "mismatches": got.hf_deepspeed_config.mismatches}
    return values


def hf(path, gpus=1):
    """Uses transformers' HfArgumentParser with TrainingArguments, in the folder of the file,
    because the name of DeepSpeed's file is relative to that."""
    from transformers import HfArgumentParser, TrainingArguments

    pretend(gpus)
    os.chdir(path.parent)
    parser = HfArgumentParser(on_cpu(TrainingArguments))
    read = parser.parse_json_file if path.suffix == ".json" else parser.parse_yaml_file
    (got,) = read(path.name, allow_extra_keys=True)
    return training_arguments(got)


def hf_flags(path):
    """Uses the same parser with the flags of a script."""
    from transformers import HfArgumentParser, TrainingArguments

    got, _ = HfArgumentParser(on_cpu(TrainingArguments)).parse_args_into_dataclasses(words(path), return_remaining_strings=True)
    return training_arguments(got)


def trl(path):
    """Uses TRL's parser with the three argument groups of its SFT script."""
    from trl import ModelConfig, ScriptArguments, SFTConfig, TrlParser

    got = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config(["--config", str(path), "--use_cpu"])
    return {key: value for part in got for key, value in vars(part).items()}


def script(path):
    """Creates the arguments that a script creates, from the values that can be read without
    running it."""
    import transformers
    import trl

    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    (call,) = [c for c in calls if c.func.id in ("TrainingArguments", "SFTConfig")]
    given = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
    made = transformers.TrainingArguments if call.func.id == "TrainingArguments" else trl.SFTConfig
    return training_arguments(made(**{"output_dir": "out", "use_cpu": True, **given, "torch_compile": False}))


def accelerate(path):
    """Uses accelerate's loader. "launch" is how `accelerate launch` interprets the file,
    and "env" contains the variables that it sets for the run."""
    from accelerate.commands import launch
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.utils.launch import prepare_deepspeed_cmd_env

    values = vars(load_config_from_file(str(path)))
    args = launch.launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
    args, defaults, _ = launch._validate_launch_command(args)
    args.deepspeed_fields_from_accelerate_config = ",".join(defaults.deepspeed_config)
    return {**values, "launch": vars(args), "env": prepare_deepspeed_cmd_env(args)[1]}


def deepspeed(path, gpus=1):
    """Uses DeepSpeed's own reader, which checks that micro-batch × accumulation × GPUs is the
    whole batch."""
    from deepspeed.runtime.config import DeepSpeedConfig

    pretend(gpus)
    return vars(DeepSpeedConfig(str(path)))


def hjson(path):
    """Uses the parser that DeepSpeed uses, for files that only a trainer can complete."""
    import hjson as library

    return library.loads(path.read_text())


def hydra(path):
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(path.parent.resolve()), version_base="1.3"):
        config = compose(path.stem)
    # data_dir comes from an environment variable that is not set.
    return {key: {k: config[key].get(k) for k in config[key] if k != "data_dir"} for key in ("data", "trainer", "net") if key in config}


def omegaconf(path):
    from omegaconf import OmegaConf

    return OmegaConf.to_container(OmegaConf.load(path), resolve=True)


def lightning(path):
    """Has LightningCLI fit a tiny model for one step. The file asks for GPUs, so accelerator,
    devices and strategy are overridden; everything else comes from the file."""
    import torch
    from lightning.pytorch import LightningDataModule, LightningModule
    from lightning.pytorch.cli import LightningCLI

    class Tagger(LightningModule):
        def __init__(self, lr: float, model_name: str):
            super().__init__()
            self.layer, self.lr = torch.nn.Linear(4, 1), lr

        def training_step(self, batch, _):
            self.seen = {"shape": list(batch.shape), "dtype": str(self.layer(batch).dtype)}
            return self.layer(batch).float().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.lr)

    class Tagging(LightningDataModule):
        def __init__(self, batch_size: int, num_workers: int, max_length: int):
            super().__init__()
            self.batch_size, self.num_workers = batch_size, num_workers

        def train_dataloader(self):
            return torch.utils.data.DataLoader(torch.ones(256, 4), batch_size=self.batch_size)

    for module, cls in (("models", Tagger), ("data", Tagging)):
        cls.__module__, cls.__qualname__ = module, cls.__name__
        sys.modules[module] = types.ModuleType(module)
        setattr(sys.modules[module], cls.__name__, cls)
    here = ["--trainer.accelerator=cpu", "--trainer.devices=1", "--trainer.strategy=auto", "--trainer.fast_dev_run=true"]
    cli = LightningCLI(save_config_callback=None, args=["fit", "--config", str(path), *here])
    trainer = {key: getattr(cli.trainer, key) for key in ("accumulate_grad_batches", "precision", "gradient_clip_val")}
    return {"trainer": trainer, "data": vars(cli.datamodule), "step": cli.model.seen}


def yaml(path):
    import yaml as library

    return library.safe_load(path.read_text())


def toml(path):
    return tomllib.loads(path.read_text())


def plain_json(path):
    return json.loads(path.read_text())


def nanogpt(path):
    """Runs the file, as nanoGPT's configurator does."""
    values = {}
    exec(path.read_text(), values)
    return values


def assigned(path):
    """Returns the names that a script assigns constants to, with their values."""
    values = {}
    for line in ast.parse(path.read_text()).body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
            values.update({name.id: line.value.value for name in line.targets})
    return values


def parsed(path):
    """Returns the defaults of a program's flags, by its parser: only the calls that add arguments are run."""
    parser = argparse.ArgumentParser()
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            values = {k.arg: eval(ast.unparse(k.value), {}) for k in call.keywords}  # of our own fixture
            parser.add_argument(*(a.value for a in call.args), **values)
    return vars(parser.parse_args([]))


def words(path):
    """Runs the script with bash, with programs replaced by ones that record their arguments."""
    bin, given = pathlib.Path("stand-ins").resolve(), pathlib.Path("given").resolve()
    bin.mkdir()
    for program in ("torchrun", "python", "accelerate", "deepspeed", "swift", "llamafactory-cli", "srun"):
        (bin / program).write_text(f'#!/bin/sh\nfor a in "$@"; do echo "$a"; done >> "{given}"\n')
        (bin / program).chmod(0o755)
    subprocess.run(["bash", path.name], cwd=path.parent, check=True, env={**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"})
    got = given.read_text().splitlines()
    shutil.rmtree(bin)
    given.unlink()
    return got


def bash(path):
    got, flags = words(path), {}
    for i, word in enumerate(got):
        if word.startswith("--"):
            flag, _, value = word.partition("=")
            flags[flag] = value or "".join(got[i + 1:i + 2])
    return flags
