# SPDX-License-Identifier: Apache-2.0
"""Hooks for Schemathesis, used by .ci/api.

The description allows any model name, card and file, so that nearly all generated requests would be refused before anything is
computed. These hooks put real names and files in the place of generated ones; everything else stays as generated.
"""

import atexit
import collections
import json
import os
import pathlib
import random
import urllib.request

import schemathesis

ADDRESS, TESTDATA = os.environ["SNUG_API"] + "api/v1", pathlib.Path(os.environ["SNUG_TESTDATA"])
SNAPSHOT = (TESTDATA / "oom" / "long_batch.pickle.gz").read_bytes()
RECORDING = (TESTDATA / "watch" / "good.jsonl.gz").read_bytes()
MODELS = [
    {"name": "gpt2"}, {"name": "bert-base"}, {"name": "t5-small"}, {"name": "torchvision/resnet18"}, {"name": "qwen2.5-0.5b"},
    {"config": {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000}},
]
CARDS = ["RTX-4090", "A100-80GB", "T4", "H200"]
chance = random.Random(20)
counts: collections.Counter = collections.Counter()
kinds: dict = {}  # the kind of each request under way, before these hooks change it


def upload(path: str, data: bytes) -> dict:
    with urllib.request.urlopen(urllib.request.Request(ADDRESS + path, data, method="POST")) as answer:
        return json.load(answer)


stored = upload("/snapshots", SNAPSHOT)["id"]  # the last upload; the server drops the oldest of many


def is_positive(case: schemathesis.Case) -> bool:
    return case.meta is not None and case.meta.generation.mode.is_positive


def plausible(setup: dict, keep_all: bool) -> dict:
    """Returns a setup with a real model. A setup that is to be accepted keeps only some of the generated settings, because no run has all of them."""
    if "model" in setup and isinstance(setup["model"], dict) and isinstance(setup["model"].get("name", ""), str):
        setup = {**setup, "model": chance.choice(MODELS)}
    if keep_all:
        return setup
    kept = chance.sample(sorted(set(setup) - {"model"}), min(len(setup) - 1, chance.randrange(4)))
    return {"model": setup["model"], "batch": chance.randrange(1, 9), "seq": 64 * chance.randrange(1, 5), **{name: setup[name] for name in kept}}


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    positive = is_positive(case)
    kinds[case.id] = "allowed" if positive else "forbidden"
    if case.path.endswith("/snapshots") and positive and chance.random() < 0.1:
        case.body = SNAPSHOT
    if case.path.endswith("/recordings") and positive and chance.random() < 0.3:
        case.body = RECORDING
    if "{id}" in case.path and positive and chance.random() < 0.3:
        case.path_parameters["id"] = stored
    body = case.body
    if not isinstance(body, dict) or not isinstance(body.get("setup"), dict):
        return
    body = {**body, "setup": plausible(body["setup"], keep_all=not positive)}
    if positive:
        for name in ("lock", "allow"):
            if name in body:
                body[name] = chance.sample(["precision", "checkpointing", "optimizer", "attention"], chance.randrange(3))
    if isinstance(body.get("gpu"), str) or (positive and chance.random() < 0.8):
        body["gpu"] = chance.choice(CARDS)
    if positive and "gpu_memory" in body:
        body["gpu_memory"] = chance.choice([24, "40GiB", 16])
    case.body = body


@schemathesis.hook
def after_call(context, case, response) -> None:
    global stored
    counts[kinds.pop(case.id, "allowed"), response.status_code] += 1
    if case.path.endswith("/snapshots") and response.status_code == 200:
        stored = response.json()["id"]


@atexit.register
def report() -> None:
    with open(os.environ["SNUG_COUNTS"], "w") as out:
        for kind in ("allowed", "forbidden"):
            answers = ", ".join(f"{n} × {status}" for (k, status), n in sorted(counts.items()) if k == kind)
            print(f"{kind} requests by status: {answers}", file=out)
