# SPDX-License-Identifier: Apache-2.0
"""Reads the settings in a run's files without snug, as (key, value, where) triples."""
import ast
import os
import re

import reading
from runs import _is_mmengine, training_command

_LINKS = re.compile(r"^(deepspeed|deepspeed_config|deepspeed_config_file|ds_config|config_file|config|fsdp_config|accelerate_config|deepspeed_config_name)$")


def of(root, run, took=""):
    """Returns the facts of one run. took is the file that its settings came from, if known."""
    path = os.path.join(root, run["path"])
    if run["kind"] == "config":
        doc = reading.document(path)
        facts = [(k, v, run["path"]) for k, v in reading.flat(doc).items()] if isinstance(doc, dict) else []
    elif run["kind"] == "script":
        facts = _script(root, path, run["path"])
        chosen = took.split(" (")[0]
        if chosen.endswith((".yaml", ".yml")) and chosen in reading.text_of(path):  # one of several branches
            facts = [x for x in facts if not x[0].startswith("(file)")] + _file(root, root, chosen)
    else:
        facts = program(path, run["path"])
    return facts + _linked(root, os.path.dirname(path), facts)


def _script(root, path, name):
    facts, programs = [], []
    commands, variables = reading.shell_commands(reading.text_of(path))
    found = [(training_command(w), w) for w in commands if w and w[0] not in ("echo", "printf")]
    found = [(p, w) for p, w in found if p]
    for program_name, words in found:
        facts.append(("(program)", program_name, name))
        facts += [(k, v, name) for k, v in reading.flags(words).items()]
        programs.append(program_name)
    for word in {w for _, words in found for w in words}:
        if word.endswith((".yaml", ".yml", ".json")) and "/" in word or word.endswith((".yaml", ".yml")):
            facts += _file(root, os.path.dirname(path), word)
    for p in set(programs):
        where = find(root, os.path.dirname(path), p)
        if where:
            facts += [(f"(code).{k}", v, w) for k, v, w in program(where, p)]
    facts += [(k, v, name) for k, v in variables.items() if re.match(r"(?i)cuda_visible_devices|nproc_per_node|llm_version|model_?(name|path)?(_or_path)?$", k)]
    facts.append(("(commands)", len(found), name))
    return facts


def find(root, folder, name):
    """Returns the file that a name refers to, relative to the project's root or a folder below it."""
    root, folders = os.path.normpath(root), [root]
    while folder.startswith(root) and folder != root:
        folders.append(folder)
        folder = os.path.dirname(folder)
    for base in folders:
        at = os.path.normpath(os.path.join(base, name))
        if at.startswith(root + os.sep) and os.path.isfile(at):
            return at
    return None


def _file(root, folder, name):
    at = find(root, folder, str(name))
    doc = reading.document(at) if at and at.endswith((".json", ".yaml", ".yml", ".conf")) else None
    return [(f"(file).{k}", v, str(name)) for k, v in reading.flat(doc).items()] if isinstance(doc, dict) else []


def _linked(root, folder, facts):
    out = []
    for key, value, _ in facts:
        if isinstance(value, str) and _LINKS.match(key.split(".")[-1]) and value.endswith((".json", ".yaml", ".yml")):
            out += _file(root, folder, value)
    return out


# Calls whose keywords are settings.
_SETTERS = re.compile(r"(TrainingArguments|Config|Trainer|from_pretrained|get_peft_model|prepare_model_for_kbit_training|DataLoader|"
                      r"AdamW?|SGD|Adafactor|Accelerator|Fabric|TrainArguments|Args?|Arguments)$")


def program(path, name):
    """Returns settings in code: keywords of known calls, defaults of arguments and dataclasses, and the called names."""
    tree = reading.tree_of(reading.text_of(path))
    if tree is None:
        return []
    facts = []
    for called, kw, args in reading.calls(tree):
        if called == "add_argument":
            facts += _argument(kw, args, name)
        elif called == "dict":  # MMEngine's: dict(type=BitsAndBytesConfig, load_in_4bit=True)
            facts += [(f"dict.{k}", v, name) for k, v in kw.items() if v is not None]
        elif _SETTERS.search(called) and called:
            facts += [(f"{called}.{k}", v, name) for k, v in kw.items() if v is not None]
            facts.append(("(call)", called, name))
            if called == "from_pretrained" and args and isinstance(args[0], str):
                facts.append(("from_pretrained.model", args[0], name))
        else:
            facts.append(("(call)", called, name))
    facts += _dataclasses(tree, name)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    facts += [(k, v, name) for k, v in reading.constants(tree).items() if not isinstance(v, (list, dict, tuple)) and (k in used or _is_mmengine(tree))]
    return facts + [("(import)", n, name) for n in _imports(tree)] + [(f"(loads){c}", n, name) for n, c in _own_models(tree)]


def _argument(kw, args, name):
    flags = [a for a in args if isinstance(a, str) and a.startswith("--")]
    if not flags:
        return []
    value = kw.get("default")
    if value is None and kw.get("action") == "store_true":
        value = False
    return [] if value is None else [("(default)." + flags[0].lstrip("-").replace("-", "_"), value, name)]


def _dataclasses(tree, name):
    out = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(d) for d in node.decorator_list):
            for x in node.body:
                if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name) and x.value is not None:
                    v = x.value
                    if isinstance(v, ast.Call):
                        v = next((k.value for k in v.keywords if k.arg == "default"), None)
                    value = reading.literal(v) if v is not None else None
                    if value is not None:
                        out.append(("(default)." + x.target.id, value, name))
    return out


def _imports(tree):
    out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            out |= {a.name for a in node.names}
        elif isinstance(node, ast.Import):
            out |= {a.name for a in node.names}
    return out


_LIBRARIES = ("transformers", "peft", "trl", "unsloth", "timm", "torchvision", "sentence_transformers", "diffusers", "setfit", "auto_gptq", "optimum", "modelscope")


def _own_models(tree):
    """Returns the project's own classes that load a model, each with the attribute that must be on for it, such as .use_liger_kernel, or nothing."""
    known = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] in _LIBRARIES and not n.level for a in n.names}
    defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    defined |= {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.level or (n.module or "").split(".")[0] not in _LIBRARIES) for a in n.names}
    needs = {}
    for n in ast.walk(tree):
        if isinstance(n, ast.If) and isinstance(n.test, ast.Attribute):
            needs.update({id(x): "." + n.test.attr for part in n.body for x in ast.walk(part)})
    out = set()
    for n in ast.walk(tree):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "from_pretrained" and isinstance(n.func.value, ast.Name):
            who = n.func.value.id
            if who in defined and who not in known and not re.search(r"Tokenizer|Config|Processor|Extractor", who):
                out.add((who, needs.get(id(n), "")))
    return sorted(out)
