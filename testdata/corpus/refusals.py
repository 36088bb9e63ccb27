# SPDX-License-Identifier: Apache-2.0
"""Classifies refusals: those that name what is not simulated or missing, and those that are wrong or useless."""
import os
import re

import compare
import reading

FAMILIES = re.compile(
    r"(llama|vicuna|alpaca|tulu|wizardlm|openchat|zephyr|mistral|mixtral|qwen|bert|roberta|electra|distil|mpnet|minilm|opt-|gpt2|gpt-2|gpt-neo|gpt-j|pythia|phi-|phi\d|gemma|"
    r"t5|bart|bloom|falcon|smollm|olmo|deepseek|yi-|internlm|baichuan|chatglm|glm-|starcoder|codellama|vit-|resnet|xlm|mpt-|stablelm|granite|cohere|aya|minicpm|modernbert|whisper|wav2vec)", re.I)
_LOCAL = re.compile(r"^(/|\./|\.\./|~|\$|\{|<|output|checkpoint-|ckpt|models?/|results?/|saves?/|path|your|\w*path\w*$)", re.I)
_MISSING = (
    ("the model", re.compile(r"no file names the model|model is missing|model has no config"), "model"),
    ("the batch", re.compile(r"no file contains the batch|batch is missing"), "batch"),
    ("the length", re.compile(r"seq is missing|is null, so samples keep their own lengths|no length is set, so"), "seq"),
    ("the images", re.compile(r"the model takes images, whose number and size depend on the data"), "images"),
    ("LoRA's layers", re.compile(r"no file names the layers to adapt|lora.targets is empty"), "targets"),
    ("LoRA's rank", re.compile(r"lora.rank is missing|no file (gives|sets) their rank"), "rank"),
)
_KEYS = {
    "model": ("model_name_or_path", "base_model", "pretrained_model_name_or_path", "model_id", "model_name", "model", "from_pretrained.model", "checkpoint_dir", "_component_", "pretrain", "model_path", "llm_backbone", "flavor", "encoder_name", "base_model_name", "partial_pretrain", "path", "llm_version", "model_name_or_paths", "model_version", "model_arch"),
    "batch": ("per_device_train_batch_size", "micro_batch_size", "train_micro_batch_size_per_gpu", "per_gpu_train_batch_size", "batch_size", "train_batch_size", "device_train_microbatch_size", "micro_train_batch_size", "local_batch_size"),
    "seq": ("max_seq_length", "max_seq_len", "max_length", "cutoff_len", "sequence_len", "seq_len", "seq_length", "model_max_length", "block_size", "max_len"),
    "targets": ("lora_target_modules", "target_modules", "lora_target", "lora_targets", "lora_modules", "lora_attn_modules"),
    "images": ("num_images", "images_per_sample"),
    "rank": ("lora_r", "lora_rank", "r"),
}
_DIMENSIONS = ("num_layers", "n_layers", "d_model", "hidden_size", "n_layer", "n_embd", "dim", "encoder_embed_dim")


def sort(root, got, facts):
    """Returns the verdict on a refusal, and why: (helpful | name | unhelpful, [(cause, detail)])."""
    text = got["error"]
    for test in (_by_name, _not_simulated, _from_flags, _cannot_run, _wrong_type, _unknown_name, _missing, _unknown_value, _file_problem):
        verdict = test(root, got, facts, text)
        if verdict:
            return verdict
    return "unhelpful", [("other: " + shape(text)[:110], text[:200])]


def shape(text):
    text = re.sub(r"[\w./+\-@]+\.(ya?ml|sh|py|json|toml|slurm|sbatch|conf)(:\d+)?", "F", text)
    return re.sub(r"\d+", "N", re.sub(r'"[^"]*"', '"…"', text))


def _not_simulated(root, got, facts, text):
    if not re.search(r"is not estimated|not simulated|not estimated yet|is only known when the run starts|quantized weights cannot be trained", text):
        return None
    named = re.match(r"[\w.]+: ([\w./+\-@() ]+?):\d+: ", text)
    m = re.search(r"(?:training|weights|dist\.\w+|model|attention|optimizer): \S+: ([\w./#*-]+)(?: (\S+))?", text)
    word = (m.group(1) if m else "").split("#")[0].split(".")[-1].strip("-")
    where = dict(got, path=named.group(1)) if named else got  # the message may name a file that the run's file refers to
    if word and not _in_files(root, got, facts, word) and not _in_files(root, where, facts, word) and not _in_files(root, got, facts, word.split("/")[-1]):
        return "unhelpful", [("names something that is not in the file", text[:200])]
    if word.isupper() and got["kind"] == "script" and word != "CUDA_VISIBLE_DEVICES":
        return "unhelpful", [("a variable of the script taken for a setting", text[:200])]
    kind = re.sub(r"^.*?: .*?: ", "", shape(text))
    return "helpful", [("not simulated: " + kind[:90], text[:160])]


def _by_name(root, got, facts, text):
    m = re.search(r"by its name \(([\w-]+)\),? it ", text)
    if m and re.sub(r"[-_]", "", m.group(1)) in re.sub(r"[-_]", "", got["path"].lower()):
        return "helpful", [("not simulated, by the file's name: " + m.group(1), text[:160])]
    return None


def _from_flags(root, got, facts, text):
    m = re.search(r"takes its settings from flags \((\w+)\); name the shell script", text)
    if m and m.group(1) in reading.text_of(os.path.join(root, got["path"])):
        return "helpful", [(f"takes its settings from flags ({m.group(1)})", text[:160])]
    return None


def _cannot_run(root, got, facts, text):
    """The files contain something that fails, or something that only the user can supply."""
    if re.search(r"learned positions, and a longer sequence crashes|argument \d+ of the script has no default|is not known: (\w+ is not set (in|at this point of) the script|it is set in a branch|it takes several values in turn)|PyTorch's GradScaler (fails \(|cannot unscale)", text):
        return "helpful", [("cannot run as it is: " + shape(text)[:90], text[:160])]
    m = re.search(r"turns adapters on, but (?:their rank is set in the program|the program computes their rank) \((\S+):\d+: ", text)
    if m and os.path.exists(os.path.join(root, m.group(1))):
        return "helpful", [("the rank is in the program", text[:160])]
    if "weights are simulated on one GPU and under ddp" in text or "it runs token by token, which is simulated " in text or re.search(r"it is not known which layers of \S+ are quantized", text):
        return "helpful", [("not simulated: " + shape(text)[:90], text[:160])]
    m = re.search(r"(\S+):\d+: (\w+) is a model class of the project's own, and its code cannot be followed", text)
    if m and m.group(2) in reading.text_of(os.path.join(root, m.group(1))):
        return "helpful", [("a model class of the project's own: " + m.group(2), text[:160])]
    m = re.search(r"(\S+):(\d+): (?:the number of texts in a sample depends on the data|this loss scores all documents of a query|the loss of this trainer is not one that snug knows)", text)
    if m and re.search(r"Trainer\(|fit\(|smart_batching|loss", "\n".join(reading.text_of(os.path.join(root, m.group(1))).splitlines()[max(int(m.group(2)) - 2, 0):int(m.group(2)) + 30])):
        return "helpful", [("the texts of a sample, or a loss of the project's own: " + shape(text)[:80], text[:160])]
    m = re.search(r": ((?:\w+\.)*\w+) is not a model that snug knows", text)
    named = re.search(r"([\w./-]+\.ya?ml):\d+: ", text)
    if m and (_in_files(root, got, facts, m.group(1)) or named and _in_files(root, dict(got, path=named.group(1)), facts, m.group(1))):
        return "helpful", [("a class of a model that is not known", m.group(1))]
    m = re.search(r"the program chooses the layers to adapt \((\S+):\d+: ", text)
    if m and os.path.exists(os.path.join(root, m.group(1))):
        return "helpful", [("the layers are chosen by the program", text[:160])]
    m = re.search(r"lora\.targets (.*?): this model has no linear layer of that name", text)
    if m and all(_in_files(root, got, facts, w) for w in m.group(1).split(", ")):
        return "helpful", [("adapters on layers that the model does not have", text[:160])]
    m = re.search(r"the script writes (\S+) itself, and that file is not here yet", text)
    if m and m.group(1) in reading.text_of(os.path.join(root, got["path"])):
        return "helpful", [("a config that the script writes", text[:160])]
    if "which does not exist here; if another config includes this file, name that one" in text:
        return "helpful", [("a part of a config, which another one includes", text[:160])]
    m = re.search(r": (?:--)?([\w.]+)(?:#\d+)?(?: \S+)?: the run .* instead of predicting tokens; give its head", text)
    if m and _in_files(root, got, facts, m.group(1).split(".")[-1]):
        return "helpful", [("another head, which the file asks for: " + m.group(1), text[:160])]
    return None


def _in_files(root, got, facts, word):
    path = os.path.join(root, got["path"])
    own = reading.text_of(path) if os.path.isfile(path) else ""
    low = word.lower().replace("-", "_")
    return low in own.lower().replace("-", "_") or any(low in f"{k} {v}".lower().replace("-", "_") for k, v, _ in facts)


def _wrong_type(root, got, facts, text):
    if re.search(r"is a (boolean|string|number|list|object), but", text):
        return "unhelpful", [("a value of the wrong kind: " + shape(re.sub(r"^.*?:\d+: ", "", text))[:90], text[:200])]
    if "this could be" in text:
        return "unhelpful", [("several values, none chosen", text[:220])]
    if re.search(r"which does not exist", text):
        return "unhelpful", [("a reference that the program resolves", text[:200])]
    return None


def _unknown_name(root, got, facts, text):
    m = re.search(r'(?:model\.name|--model|model) "([^"]*)" is not known', text)
    if not m:
        return None
    name = m.group(1)
    if " " in name or name.endswith((".yaml", ".yml", ".json", ".py")):
        return "unhelpful", [("something else taken for the model's name", text[:160])]
    named = re.match(r"([\w./+\-@() ]+?):\d+: ", text)  # the file that the message names may be another one
    if not _in_files(root, got, facts, name.split("/")[-1]) and not (named and _in_files(root, dict(got, path=named.group(1)), facts, name.split("/")[-1])):
        return "unhelpful", [("a model that the file does not name", text[:160])]
    if _LOCAL.match(name) or "$" in name:
        return "helpful", [("the model is a path of the user's own", name)]
    if FAMILIES.search(name):
        return "name", [(name, "")]
    return "helpful", [("a model that is not known", name)]


def _missing(root, got, facts, text):
    for what, pattern, setting in _MISSING:
        if not pattern.search(text):
            continue
        other = _objective(got, facts) if got["kind"] != "program" else None
        if other and not (other[0] == "preferences" and got["system"] in ("trainer", "trl program", "axolotl", "llama-factory")):  # those are simulated
            return "unhelpful", [(f"asks for {what} of a run with another objective: {other[0]}", f"{other[1]} | {text[:140]}")]
        said = _says(facts, setting)
        if said:
            return "unhelpful", [(f"asks for {what}, which the files say ({got['system']})", f"{said[0]} = {str(said[1])[:80]} | {text[:140]}")]
        if setting == "model":
            dims = [k for k, _, _ in facts if k.split(".")[-1].replace("-", "_").lower() in _DIMENSIONS and not k.startswith(("(code)",))]
            if dims and got["kind"] != "program":
                return "unhelpful", [(f"asks for the model, whose dimensions the file says ({got['system']})", f"{dims[0]} | {text[:120]}")]
        return "helpful", [(f"asks for {what}, which no file says", text[:160])]
    return None


def _objective(got, facts):
    """Returns another objective that the file names, and where."""
    empty = dict(model="", batch=None, seq=None, accumulation=1, precision=None, checkpointing=False, optimizer=None, rank=1, bits="4", head=None, pixels=None, dist=None, gpus=None, system="")
    check = compare.Check(dict(got, setup=empty, shown="", notes=[]), facts)
    check.objective()
    check.path()
    found = [x for x in check.found if x[0].startswith("objective") and not re.search("classification|question|num_labels|speech|embeddings", x[0])]
    return (found[0][0].removeprefix("objective: "), found[0][1].split(";")[0]) if found else None


def _says(facts, setting):
    for k, v, _ in facts:
        leaf = k.split(".")[-1].lower().replace("-", "_")
        if (leaf in _KEYS[setting] or k in _KEYS[setting]) and v not in (None, "", True, False, []) and not k.startswith("(code).(default)"):
            if setting == "model" and (not _model_like(leaf, v) or leaf == "path" and "model" not in k):
                continue
            if setting in ("batch", "seq", "rank") and not re.match(r"^\d+$", str(v)):
                continue
            if setting == "rank" and leaf == "r" and "lora" not in k.lower():
                continue
            return k, v
    return None


def _model_like(leaf, value):
    if not isinstance(value, str) or _LOCAL.match(value) or "$" in value or len(value) < 3:
        return False
    if re.match(r"^[a-z_]+_(model|name|path|dir)$", value):
        return False  # one of the program's variables
    if leaf == "_component_":
        return "models." in value
    if leaf == "path":
        return bool(re.match(r"^[\w.-]+/[\w.-]+$", value) and FAMILIES.search(value))
    if leaf in ("model", "model_name", "flavor"):
        return bool(FAMILIES.search(value)) or leaf == "flavor"
    return "/" in value or bool(FAMILIES.search(value))


def _unknown_value(root, got, facts, text):
    m = re.search(r'(\w+): \S+: "([^"]*)" is not known', text)
    if not m:
        return None
    setting, value = m.groups()
    if setting == "optimizer" and re.search(r"^(fused_?)?adamw?(_torch|_hf|_apex)?(_fused)?$|^adamw?_(torch|bnb)\w*|^sgd", value, re.I) and not re.search(r"4bit|torch_8bit|npu|xla", value):
        return "unhelpful", [(f"an ordinary optimizer is not known: {value}", text[:160])]
    return "helpful", [(f"{setting} {value} is not simulated", text[:160])]


def _file_problem(root, got, facts, text):
    m = re.search(r'model_type "(\w+)" is not known; record a profile', text)
    if m and any(f'"{m.group(1)}"' in reading.text_of(os.path.join(at, f)) for at, _, files in os.walk(root) for f in files if f == "config.json"):
        return "helpful", [("a model type that is not known", m.group(1))]
    if re.search(r"written twice|defined more than once", text):
        return "helpful", [("a key written twice", text[:160])]
    if re.search(r"turn on both bf|turn on both", text):
        return "helpful", [("both bf16 and fp16", text[:160])]
    if "not a kind of file that snug can edit" in text:
        return "unhelpful", [("a linked file of another ending", text[:160])]
    return None
