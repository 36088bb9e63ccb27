"""Reads the same files with the libraries' own parsers and with snug, and compares the results.

The files are generated with a fixed seed in the forms that people use: keys in any order, missing or with their
default values, numbers as 1e-5, switches as true, True and yes, comments, quotes; flags with and without an equals sign, over
several lines, through variables. Usage: parsing.py SNUG"""
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import warnings

os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", DS_ACCELERATOR="cpu", CUDA_VISIBLE_DEVICES="", DISABLE_VERSION_CHECK="1", AXOLOTL_DO_NOT_TRACK="1")
warnings.simplefilter("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testdata" / "corpus"))

import readers
import score

EACH = int(os.environ.get("EACH", "36"))  # files of each form
MODEL = "HuggingFaceTB/SmolLM2-135M"
LEFT_OUT = object()

# The names of optimizers in a library and in snug.
OPTIMIZERS = {"adamw_torch": "adamw", "adamw_torch_fused": "adamw-fused", "sgd": "sgd", "adafactor": "adafactor", "adamw_bnb_8bit": "adamw-8bit", "adamw_8bit": "adamw-8bit", "lion_8bit": "lion-8bit"}

TRAINER = {
    "per_device_train_batch_size": [1, 2, 4, 8, 16, LEFT_OUT], "gradient_accumulation_steps": [1, 2, 4, 8, 16, LEFT_OUT],
    "learning_rate": [5e-5, 2e-4, 1e-05, LEFT_OUT], "num_train_epochs": [1, 3.0, LEFT_OUT], "warmup_steps": [100, LEFT_OUT], "lr_scheduler_type": ["cosine", "linear", LEFT_OUT],
    "optim": ["adamw_torch", "adamw_torch_fused", "sgd", "adafactor", "adamw_bnb_8bit", LEFT_OUT, LEFT_OUT],
    "max_grad_norm": [1.0, 0.3, 0.0, LEFT_OUT], "logging_steps": [1, 10, LEFT_OUT], "save_strategy": ["epoch", "steps", LEFT_OUT], "seed": [42, LEFT_OUT],
    "dataloader_num_workers": [0, 4, LEFT_OUT], "weight_decay": [0.0, 0.1, LEFT_OUT], "ddp_timeout": [180000000, LEFT_OUT],
}
PRECISIONS = [{}, {"bf16": True}, {"fp16": True}, {"bf16": False, "fp16": True}, {"bf16": True, "fp16": False}, {"bf16": False}]
SWITCH = [True, False, LEFT_OUT]


def chosen(rng, keys):
    return {k: v for k, v in ((k, rng.choice(values)) for k, values in keys.items()) if v is not LEFT_OUT}


def trainer(rng):
    got = {"model_name_or_path": MODEL, "output_dir": "out", "max_seq_length": rng.choice([128, 512]), **chosen(rng, TRAINER), **rng.choice(PRECISIONS), **chosen(rng, {"gradient_checkpointing": SWITCH})}
    got.setdefault("per_device_train_batch_size", 8)  # marks a file or command as the trainer's
    if got.get("fp16"):
        got["torch_dtype"] = "float32"  # the weights are saved in bfloat16, which a gradient scaler refuses
    return got


def trl(rng):
    got = {"model_name_or_path": MODEL, "dataset_name": "trl-lib/Capybara", "output_dir": "out", **chosen(rng, TRAINER), **rng.choice(PRECISIONS), **chosen(rng, {"gradient_checkpointing": SWITCH})}
    got |= chosen(rng, {"max_length": [256, 1024, 2048, LEFT_OUT], "packing": [True, False, LEFT_OUT], "dtype": ["bfloat16", "float32", LEFT_OUT, LEFT_OUT], "eos_token": ["<|im_end|>", LEFT_OUT]})
    got.setdefault("per_device_train_batch_size", 8)
    got.setdefault("packing", False)  # together, these two keys mark the file as TRL's
    if rng.random() < 0.5:
        got |= {"use_peft": True, **chosen(rng, {"lora_r": [8, 32, 64, LEFT_OUT], "lora_alpha": [16, 32, LEFT_OUT], "lora_dropout": [0.05, LEFT_OUT]}), "lora_target_modules": rng.choice(["all-linear", ["q_proj", "v_proj"]])}
        if "dtype" not in got and not got.get("fp16") and rng.random() < 0.4:  # a gradient scaler rejects TRL's adapters on 4-bit weights
            got |= {"load_in_4bit": True}
    return got


def axolotl(rng):
    got = {"base_model": MODEL, "datasets": [{"path": "tatsu-lab/alpaca", "type": "alpaca"}], "micro_batch_size": rng.choice([1, 2, 4]), "sequence_len": rng.choice([512, 1024, 2048]), "learning_rate": 2e-4,
           "num_epochs": 1, "output_dir": "./out", **chosen(rng, {"gradient_accumulation_steps": [1, 2, 4, 8, LEFT_OUT], "optimizer": ["adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "adamw_8bit", "sgd", "adafactor"],
           "gradient_checkpointing": SWITCH, "tf32": [True, False, LEFT_OUT], "sample_packing": [False, LEFT_OUT], "pad_to_sequence_len": [True, LEFT_OUT], "val_set_size": [0.0, LEFT_OUT], "logging_steps": [1, LEFT_OUT],
           "warmup_steps": [10, LEFT_OUT], "lr_scheduler": ["cosine", LEFT_OUT], "weight_decay": [0.0, LEFT_OUT], "max_grad_norm": [1.0, LEFT_OUT]}), **rng.choice([{"bf16": True}, {"fp16": True}, {"bf16": True, "fp16": False}])}
    if rng.random() < 0.6 or got.get("fp16"):  # a gradient scaler rejects weights trained in float16
        four = rng.random() < 0.5
        got |= {"adapter": "qlora" if four else "lora", "lora_r": rng.choice([8, 16, 32]), "lora_alpha": 16, "lora_dropout": rng.choice([0.0, 0.05]), "lora_target_linear": True, **({"load_in_4bit": True} if four else {})}
    return got


def factory(rng):
    got = {"model_name_or_path": MODEL, "stage": "sft", "do_train": True, "dataset": "identity", "template": rng.choice(["default", "llama3"]), "output_dir": "out", **chosen(rng, TRAINER), **rng.choice([{"bf16": True}, {"fp16": True}, {}])}
    got |= chosen(rng, {"cutoff_len": [512, 1024, LEFT_OUT], "disable_gradient_checkpointing": SWITCH, "overwrite_cache": [True, LEFT_OUT], "max_samples": [1000, LEFT_OUT], "preprocessing_num_workers": [16, LEFT_OUT], "plot_loss": [True, LEFT_OUT]})
    kind = rng.choice(["lora", "full", LEFT_OUT])
    if kind is not LEFT_OUT:
        got["finetuning_type"] = kind
    if kind != "full":
        got |= chosen(rng, {"lora_rank": [4, 16, 64, LEFT_OUT], "lora_target": ["all", "q_proj,v_proj", LEFT_OUT]})
        if rng.random() < 0.3:
            got |= {"quantization_bit": 4, "quantization_method": "bnb"}
    return got


# How files are written.

def scalar(rng, value):
    if isinstance(value, bool):
        return rng.choice(["true", "true", "True", "yes"] if value else ["false", "false", "False", "no"])
    if isinstance(value, str):
        return rng.choice([value, f'"{value}"', f"'{value}'"]) if value and value[0] not in "<{[" else f'"{value}"'
    if isinstance(value, float) and 0 < abs(value) < 1e-3:
        return rng.choice([f"{value:.1e}", f"{value:.10f}".rstrip("0")])
    return str(value)


def yaml_of(rng, values):
    keys, lines = list(values), []
    rng.shuffle(keys)
    for k in keys:
        v = values[k]
        if rng.random() < 0.15:
            lines.append(rng.choice(["", f"# {k}: 3", "### settings"]))
        if isinstance(v, list):
            lines += [f"{k}:"] + [f"  - {', '.join(f'{a}: {b}' for a, b in x.items())}" if isinstance(x, dict) and len(x) == 1 else "  - " + ("{" + ", ".join(f"{a}: {b}" for a, b in x.items()) + "}" if isinstance(x, dict) else str(x)) for x in v]
        else:
            lines.append(f"{k}: {scalar(rng, v)}" + ("  # as usual" if rng.random() < 0.1 else ""))
    return "\n".join(lines) + "\n"


def json_of(rng, values):
    keys = list(values)
    rng.shuffle(keys)
    return json.dumps({k: values[k] for k in keys}, indent=rng.choice([2, 4]))


def flags_of(rng, values, command):
    """A script with the values as flags, and the arguments that its program gets."""
    keys, lines, variables = list(values), [], []
    rng.shuffle(keys)
    for k in keys:
        v = values[k]
        text = " ".join(map(str, v)) if isinstance(v, list) else str(v)
        if isinstance(v, bool) and v and rng.random() < 0.4:
            lines.append(f"--{k}")
        elif rng.random() < 0.2 and not isinstance(v, (list, bool)):
            name = k.upper()
            variables.append(rng.choice([f'{name}="{text}"', f"export {name}={text}", f"{name}=${{{name}:-{text}}}"]))
            lines.append(f"--{k} ${name}")
        else:
            lines.append(f"--{k}={text}" if rng.random() < 0.2 and not isinstance(v, list) else f"--{k} {text}")
    return "#!/bin/bash\n" + "\n".join(variables) + f"\n\n{command} \\\n    " + " \\\n    ".join(lines) + "\n"


# What the libraries read.

def by_trainer(path):
    got = readers.hf_flags(path) if path.suffix == ".sh" else readers.hf(path)
    return {"batch": got["per_device_train_batch_size"], "accumulation": got["gradient_accumulation_steps"], "bf16": got["bf16"], "fp16": got["fp16"], "checkpointing": got["gradient_checkpointing"], "optim": got["optim"]}


def by_trl(path):
    got = readers.trl(path)
    return {"batch": got["per_device_train_batch_size"], "accumulation": got["gradient_accumulation_steps"], "bf16": got["bf16"], "fp16": got["fp16"], "checkpointing": got["gradient_checkpointing"], "optim": got["optim"],
            "seq": got["max_length"], "rank": got["lora_r"] if got["use_peft"] else None, "bits": "4" if got["load_in_4bit"] else None, "dtype": str(got.get("dtype"))}


def by_axolotl(path):
    from axolotl.utils.schemas.config import AxolotlInputConfig

    got = AxolotlInputConfig(**readers.yaml(path))
    return {"batch": got.micro_batch_size, "accumulation": got.gradient_accumulation_steps or 1, "bf16": got.bf16 is True, "fp16": got.fp16 is True, "checkpointing": bool(got.gradient_checkpointing),
            "optim": str(getattr(got.optimizer, "value", got.optimizer)), "seq": got.sequence_len, "rank": got.lora_r if got.adapter else None, "bits": "4" if got.load_in_4bit else None}


def by_factory(path):
    from llamafactory.hparams.parser import _parse_train_args

    values = readers.yaml(path)
    model, data, training, tuning, _ = _parse_train_args({**values, "use_cpu": True, **{k: float(v) for k, v in values.items() if k == "learning_rate"}})
    return {"batch": training.per_device_train_batch_size, "accumulation": training.gradient_accumulation_steps, "bf16": training.bf16, "fp16": training.fp16, "checkpointing": not model.disable_gradient_checkpointing,
            "optim": str(getattr(training.optim, "value", training.optim)), "seq": data.cutoff_len, "rank": tuning.lora_rank if tuning.finetuning_type == "lora" else None, "bits": "4" if model.quantization_bit == 4 else None}


FORMS = [
    ("Trainer, YAML", trainer, lambda rng, v: ("train.yaml", yaml_of(rng, v)), by_trainer),
    ("Trainer, JSON", trainer, lambda rng, v: ("args.json", json_of(rng, v)), by_trainer),
    ("Trainer, flags", trainer, lambda rng, v: ("run.sh", flags_of(rng, v, rng.choice(["torchrun run_clm.py", "python run_clm.py", "accelerate launch run_clm.py"]))), by_trainer),
    ("TRL, YAML", trl, lambda rng, v: ("sft.yaml", yaml_of(rng, v)), by_trl),
    ("Axolotl", axolotl, lambda rng, v: ("lora.yml", yaml_of(rng, v)), by_axolotl),
    ("LLaMA-Factory", factory, lambda rng, v: ("sft.yaml", yaml_of(rng, v)), by_factory),
]


def differences(library, setup, notes):
    """What snug read differently."""
    out = []
    for key in ("batch", "accumulation", "checkpointing", "seq", "rank", "bits"):
        if key in library and library[key] != setup[key]:
            out.append(f"{key} is {library[key]!r}, and snug reads {setup[key]!r}")
    took = setup["precision"] or ""
    held = library.get("dtype", "")
    wanted = "bf16" if library["bf16"] else "fp16" if library["fp16"] else "fp32"
    if wanted not in took and not (wanted == "fp32" and (held in ("bfloat16", "auto") or "as saved" in notes or took in ("bf16", "fp16"))) and not (held == "bfloat16" and "bf16" in took):
        out.append(f"precision is {wanted}, and snug reads {took!r}")
    if OPTIMIZERS.get(library["optim"]) != setup["optimizer"]:
        out.append(f"optimizer is {library['optim']}, and snug reads {setup['optimizer']!r}")
    return out


def apart(by, path):
    """What a library reads, in a separate process, because parsers leave state behind; a string if it refuses the file."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)

    def child():
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(path.parent)
        try:
            theirs.send(by(path))
        except (Exception, SystemExit) as e:
            theirs.send(f"{type(e).__name__}: {str(e)[:300]}")
        theirs.close()
        os._exit(0)

    process = fork.Process(target=child)
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(120) else "it takes more than two minutes"
    except EOFError:
        return "it ended the process"
    finally:
        process.kill()
        process.join()


def main():
    snug, failed, refused, read = os.path.abspath(sys.argv[1]), 0, 0, {}
    readers.preload()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for title, make, write, by in FORMS:
            for i in range(EACH):
                rng = random.Random(f"{title} {i}")
                folder = pathlib.Path(name) / f"{len(read)}"
                folder.mkdir()
                file, text = write(rng, make(rng))
                (folder / file).write_text(text)
                read[folder / file] = (title, pool.submit(score.ask, snug, str(folder), file), by)
        concurrent.futures.wait([asked for _, asked, _ in read.values()])
        for path, (title, asked, by) in read.items():
            code, out, err, _ = asked.result()
            library = apart(by, path)
            if isinstance(library, str):  # the library refuses the file; snug may answer it
                refused += 1
                if os.environ.get("VERBOSE"):
                    print(f"parsing: {title}: refused by its library: {library}")
                continue
            wrong = [f"snug: {score.reason(err)[:300]}"] if code not in (0, 1) else differences(library, score.setup(score.shown(out)), score.shown(out))
            for line in wrong:
                failed += 1
                print(f"parsing: {title}: {path.name}: {line}\n{path.read_text() if os.environ.get('VERBOSE') else ''}")
    counts = {}
    for title, _, _ in read.values():
        counts[title] = counts.get(title, 0) + 1
    for title, n in counts.items():
        print(f"{n:4} files of {title}")
    print(f"parsing: {len(read) - refused} generated files read by their libraries and by snug, {refused} refused by the libraries; {failed} different")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
