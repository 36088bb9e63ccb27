# SPDX-License-Identifier: Apache-2.0
"""Lists the runs in a corpus: files that are executed, or passed to a program, to start training.

    runs.py CORPUS > runs.jsonl

CORPUS has one folder per project, `owner+name`, each at the commit in projects.tsv. A run is a config of
a training system, a shell script with a training command, or a Python program with a training loop or a
Trainer. Model cards, data, tests, CI files, inference and evaluation are not runs, nor is a DeepSpeed or
accelerate file on its own.
"""
import ast
import hashlib
import json
import os
import re
import sys

import reading

CAP = 250  # runs from one project
# Limits per project, so that its subject (speech, layouts, reinforcement learning) does not outweigh the rest.
CAPS = {"own yaml": 30, "own flags": 30, "own loop": 12, "own trainer": 12, "nemo": 50, "fairseq": 50, "verl": 60,
        "trainer program": 25, "lightning": 25, "xtuner": 40, "unsloth": 70, "ms-swift": 240, "axolotl": 240}
KINDS = {".yaml": "config", ".yml": "config", ".json": "config", ".toml": "config", ".sh": "script",
         ".bash": "script", ".slurm": "script", ".sbatch": "script", ".py": "program"}
SKIPPED = re.compile(
    r"(^|/)(tests?|unit_tests|functional_tests|\.github|\.circleci|docker|docs?|node_modules|eval\w*|inference|"
    r"serving|deploy\w*|data_\w+|datasets?|third_party|release|packaging|build\w*|studio|src/transformers|flax|tensorflow|jax\w*|tpu|"
    r"legacy|\.devcontainer|\.ci|ci|mcli|gcp|k8s|sagemaker|lm-evaluation-harness|lm_eval|lm_eval_tasks|results?|outputs?|logs?|wandb)/|(^|/)(test_|conftest|setup\.py$)", re.I)
NOT_PYTORCH = {"google-research/electra", "young-geng/EasyLM"}

_TRAINS = re.compile(r"(train|fine_?-?tun|(^|[_\-/.])(sft|dpo|ppo|grpo|orpo|kto|simpo|cpo|gkd|rloo|rlhf|rm|reward\w*)([_\-/.]|$)|distil|"
                     r"run_(clm|mlm|plm|glue|qa|ner|mt|seq2seq|summarization|translation|classification|s2s|squad|xnli|swag|lm|language|pt|speech|vit|mae)|lora|instruct_tun|dreambooth|textual_inversion)", re.I)
_NOT_TRAINING = re.compile(r"(eval|infer|generat|predict|convert|preprocess|prepare|merge|export|tokeni|download|encode|server|serve|plot|"
                           r"test_|_test|constrained|benchmark|process_|collect|split|upload|hparams|search\.py|demo|visual|index|retriev\w*\.py|"
                           r"extract|setup\.py|make_|get_|create_|cache|webui|chat|trainer_state)", re.I)
_SUBCOMMANDS = [("swift", ("sft", "pt", "rlhf")), ("megatron", ("sft", "pt", "rlhf")), ("axolotl", ("train",)),
                ("llamafactory-cli", ("train",)), ("tune", ("run",)), ("litgpt", ("finetune", "finetune_lora", "finetune_full", "pretrain", "finetune_adapter", "finetune_qlora")),
                ("oumi", ("train",)), ("trl", ("sft", "dpo", "kto", "grpo", "reward", "rloo")), ("xtuner", ("train",)), ("composer", ("train",)),
                ("fairseq-train", ()), ("fairseq-hydra-train", ()), ("yolo", ("train",))]


def config_system(doc):
    """Returns the system that a mapping configures, or None if it does not start training."""
    flat = reading.flat(doc)
    has = lambda *names: all(any(k == n or k.startswith(n + ".") for k in flat) for n in names)
    leaf = {k.split(".")[-1].replace("-", "_") for k in flat}
    if has("compute_environment") or has("zero_optimization") and not ({"num_layers", "hidden_size"} & leaf):
        return None
    for name, test in _SIGNS:
        if test(has, leaf, flat):
            return name
    return None


def _factory(has, leaf, flat):
    if not (has("model_name_or_path") or has("model")):
        return False
    if flat.get("do_train") is False or "export_dir" in leaf or "infer_backend" in leaf and "stage" not in leaf:
        return False
    return bool({"finetuning_type", "cutoff_len", "template"} & leaf) and bool({"per_device_train_batch_size", "micro_batch_size", "learning_rate", "do_train"} & leaf)


_SIGNS = [
    ("axolotl", lambda has, leaf, f: has("base_model") and bool({"micro_batch_size", "sequence_len", "adapter", "datasets"} & leaf | {"d" for k in f if k.startswith("datasets.")})),
    ("llama-factory", _factory),
    ("torchtune", lambda has, leaf, f: any(k.endswith("_component_") for k in f) and has("optimizer") and has("dataset")),
    ("oumi", lambda has, leaf, f: has("model.model_name", "training")),
    ("nanotron", lambda has, leaf, f: has("tokens.micro_batch_size", "parallelism")),
    ("litgpt", lambda has, leaf, f: has("train") and (has("checkpoint_dir") or has("model_name")) and bool({"micro_batch_size", "global_batch_size"} & leaf)),
    ("llm-foundry", lambda has, leaf, f: has("train_loader") and (has("model") or has("variables")) and bool({"max_duration", "optimizer", "device_train_microbatch_size"} & leaf | {k.split(".")[0] for k in f} & {"optimizer"})),
    ("olmo", lambda has, leaf, f: has("model.d_model") and bool({"global_train_batch_size", "device_train_microbatch_size"} & leaf)),
    ("nemo", lambda has, leaf, f: has("trainer", "model") and has("exp_manager")),
    ("fairseq", lambda has, leaf, f: has("task", "model", "optimization") or has("task", "criterion", "optimizer")),
    ("torchtitan", lambda has, leaf, f: has("training.seq_len") or has("model.flavor", "training")),
    ("lingua", lambda has, leaf, f: has("model.dim", "optim", "data.batch_size")),
    ("gpt-neox", lambda has, leaf, f: {"num_layers", "hidden_size"} <= leaf and "seq_length" in leaf),
    ("h2o-llmstudio", lambda has, leaf, f: has("architecture", "training", "llm_backbone")),
    ("trainer", lambda has, leaf, f: "per_device_train_batch_size" in leaf and bool({"learning_rate", "output_dir", "num_train_epochs", "max_steps"} & leaf)),
    ("own yaml", lambda has, leaf, f: bool({"batch_size", "train_batch_size", "micro_batch_size", "per_gpu_batch_size"} & leaf) and bool({"lr", "learning_rate"} & leaf) and bool({"epochs", "num_epochs", "max_steps", "max_epochs", "n_epochs", "num_train_epochs", "max_iters", "total_steps"} & leaf)),
]


def training_command(words):
    """Returns the program or subcommand that a command trains with, or None."""
    for i, w in enumerate(words):
        base = os.path.basename(w)
        for name, subs in _SUBCOMMANDS:
            if base == name and (not subs or i + 1 < len(words) and words[i + 1] in subs):
                return " ".join([name] + words[i + 1:i + 2 if subs else i + 1])
    for i, w in enumerate(words):
        module = i and words[i - 1] == "-m" and re.match(r"^[\w.]+$", w)
        if not (w.endswith(".py") or module) or w in ("torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch") or w.startswith("-"):
            continue
        name = w.replace("\\", "/")
        tail = "/".join(name.split("/")[-2:]) if not module else name
        if _NOT_TRAINING.search(os.path.basename(name) if not module else name.split(".")[-1]):
            continue
        if _TRAINS.search(tail) or _looks_trained(words[i:]):
            return w
    return None


def _looks_trained(words):
    f = set(reading.flags(words))
    leaf = {k.split(".")[-1] for k in f}
    return bool({"lr", "learning_rate"} & leaf) and bool({"batch_size", "per_device_train_batch_size", "micro_batch_size", "train_batch_size", "epochs", "num_train_epochs", "per_gpu_train_batch_size"} & leaf)


def script_system(path):
    words, _ = reading.shell_commands(reading.text_of(path))
    for w in words:
        if w and w[0] in ("echo", "printf", "cd", "pip", "mkdir", "ls", "cat", "cp", "rm"):
            continue
        program = training_command(w)
        if program:
            return system_of_command(program, w)
    return None


def system_of_command(program, words):
    text = " ".join(words)
    for name, sign in (("ms-swift", r"(^|/)(swift|megatron) (sft|pt|rlhf)|swift/cli|cli/_?megatron"), ("axolotl", "axolotl"), ("llama-factory", r"llamafactory|src/train(_bash)?\.py"),
                       ("torchtune", r"^tune run"), ("litgpt", "litgpt"), ("oumi", "oumi"), ("trl", r"^trl |trl/scripts|trl\.scripts"), ("fairseq", "fairseq"),
                       ("verl", r"verl\."), ("openrlhf", "openrlhf"), ("tevatron", "tevatron"), ("flagembedding", "FlagEmbedding"), ("open-instruct", "open_instruct"),
                       ("xtuner", "xtuner"), ("megatron", r"pretrain_(gpt|bert|t5|llama|vlm|mamba)"), ("nanotron", "run_train.py"), ("torchtitan", "torchtitan")):
        if re.search(sign, program) or name in ("verl", "openrlhf", "flagembedding", "open-instruct") and re.search(sign, text):
            return name
    if "per_device_train_batch_size" in text:
        return "trainer flags"
    return "own flags"


_TRAINERS = re.compile(r"Trainer$")


def program_system(path):
    text = reading.text_of(path)
    if "torch" not in text and "transformers" not in text and "lightning" not in text and "Trainer" not in text and "mmengine" not in text:
        return None
    tree = reading.tree_of(text)
    if tree is None:
        return None
    if _is_mmengine(tree):
        return "xtuner"
    names = {reading.called(n) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    if not _starts(tree) or re.search(r"import (jax|tensorflow|flax)", text):
        return None
    trainers = {n for n in names if _TRAINERS.search(n)} - {"get_trainer"}
    if trainers and {"train", "fit"} & names:
        return _program_name(text, trainers)
    if {"backward", "step"} <= names and ({"zero_grad"} & names):
        return "own loop"
    return None


def _program_name(text, trainers):
    if "unsloth" in text:
        return "unsloth"
    if "sentence_transformers" in text or any(t.startswith(("SentenceTransformer", "CrossEncoder", "SparseEncoder")) for t in trainers):
        return "sentence-transformers"
    if "setfit" in text:
        return "setfit"
    if "from trl" in text or "import trl" in text:
        return "trl program"
    if "lightning" in text:
        return "lightning"
    if "composer" in text:
        return "composer"
    return "trainer program" if "transformers" in text else "own trainer"


def _is_mmengine(tree):
    top = {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    return {"train_dataloader", "optim_wrapper"} <= top


def _starts(tree):
    """Returns whether the module does something when it is run."""
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            return True
        if isinstance(node, (ast.Expr, ast.Assign, ast.For, ast.With)):
            for c in ast.walk(node):
                if isinstance(c, ast.Call) and reading.called(c) in ("train", "fit", "main", "backward", "from_pretrained", "cli_main", "run"):
                    return True
    return False


def system_of(path, kind):
    if kind == "script":
        return script_system(path)
    if kind == "program":
        if _NOT_TRAINING.search(os.path.basename(path)):
            return None
        return program_system(path)
    if _NOT_TRAINING.search(os.path.basename(path)):
        return None
    doc = reading.document(path)
    return config_system(doc) if isinstance(doc, dict) else None


def project_runs(corpus, folder, seen):
    root, found = os.path.join(corpus, folder), []
    project = folder.replace("+", "/", 1)
    for at, _, files in os.walk(root):
        for f in files:
            path = os.path.join(at, f)
            rel = os.path.relpath(path, root)
            kind = KINDS.get(os.path.splitext(f)[1].lower())
            if not kind or SKIPPED.search(rel):
                continue
            system = system_of(path, kind)
            if not system:
                continue
            digest = hashlib.sha1(reading.text_of(path).encode()).hexdigest()
            if digest not in seen:
                seen.add(digest)
                found.append({"project": project, "path": rel, "system": system, "kind": kind})
    return capped(found)


def capped(found):
    """Returns a reproducible sample, if a project has very many runs."""
    found.sort(key=lambda r: hashlib.sha1(r["path"].encode()).hexdigest())
    kept, count = [], {}
    for r in found:
        count[r["system"]] = count.get(r["system"], 0) + 1
        if count[r["system"]] <= CAPS.get(r["system"], CAP):
            kept.append(r)
    return sorted(kept[:CAP], key=lambda r: r["path"])


def main():
    corpus, seen = sys.argv[1], set()
    for folder in sorted(os.listdir(corpus)):
        if "+" in folder and folder.replace("+", "/", 1) not in NOT_PYTORCH:
            for run in project_runs(corpus, folder, seen):
                print(json.dumps(run))


if __name__ == "__main__":
    main()
