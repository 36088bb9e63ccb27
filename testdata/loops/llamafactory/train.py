"""Runs LLaMA-Factory on made-up data: train.py --config models/NAME --seq_len N KEY=VALUE ... (LLaMA-Factory's own keys).

Prompts and answers are longer than cutoff_len, so that LLaMA-Factory cuts each sample to that length, half of it the answer."""
import argparse
import json
import random

import torch
import yaml
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast


def tokenizer(vocab_size):
    words = {"<unk>": 0, "<eos>": 1, "<pad>": 2} | {f"w{i}": i for i in range(3, vocab_size)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")


def text(vocab_size, length):
    return " ".join(f"w{random.randrange(3, vocab_size)}" for _ in range(length)) + " "


def dataset(stage, words, length, examples):
    rows = [{"instruction": text(words, length), "input": "", "output": text(words, length)} for _ in range(examples)]
    about = {"file_name": "rows.json"}
    if stage in ("dpo", "rm"):
        rows = [row | {"chosen": row["output"], "rejected": text(words, length)} for row in rows]
        about |= {"ranking": True, "columns": {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"}}
    if stage == "kto":
        rows = [row | {"tag": i % 2 == 0} for i, row in enumerate(rows)]
        about |= {"columns": {"prompt": "instruction", "query": "input", "response": "output", "kto_tag": "tag"}}
    json.dump(rows, open("rows.json", "w"))
    json.dump({"rows": about}, open("dataset_info.json", "w"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="models/smollm2-135m"), parser.add_argument("--seq_len", type=int, default=512)
    parser.add_argument("--saved", default="bfloat16"), parser.add_argument("--examples", type=int, default=32)
    parser.add_argument("keys", nargs="*")
    a = parser.parse_args()
    keys = {key: yaml.safe_load(value) for key, value in (pair.split("=", 1) for pair in a.keys)}
    config = AutoConfig.from_pretrained(a.config)
    AutoModelForCausalLM.from_config(config, dtype=getattr(torch, a.saved)).save_pretrained("saved")
    tokenizer(config.vocab_size).save_pretrained("saved")
    dataset(keys.get("stage", "sft"), config.vocab_size, a.seq_len, a.examples)
    from llamafactory.train.tuner import run_exp

    run_exp({
        "model_name_or_path": "saved", "do_train": True, "dataset": "rows", "dataset_dir": ".", "template": "empty", "cutoff_len": a.seq_len,
        "output_dir": "out", "report_to": "none", "save_strategy": "no", "logging_steps": 1, "max_steps": 3, "overwrite_cache": True,
    } | keys)


main()
