# SPDX-License-Identifier: Apache-2.0
"""Counts why runs get no answer: by reason, and within each reason by what would have to be added.

    reasons.py < verdicts.jsonl

Prints a Markdown table of the reasons, then a list for each. A run counts once, under what its refusal names first.
"""
import json
import re
import sys

REASONS = (
    ("another objective", re.compile(
        r"(?:samples|generates) answers|compares answers|pairs of answers|rated answers|scores answers|teacher model|diffusion model|denoising|group of texts|"
        r"replaces the model's own loss|loss of this SentenceTransformer|scores pairs of texts|as wide as the vocabulary|"
        r"classifies samples|instead of predicting tokens|contrastive|embeddings")),
    ("another method", re.compile(
        r"splits? the layers|layers are split|Unsloth's|Megatron|load_in_8bit|quantizes? weights|rounds the weights|experts|optimizer: \S+ \"|"
        r"in float32|lora: \S+ \"|dist\.\w+: \S+ \"|quantized weights|which layers of|own layers|takes memory that is not estimated|v1 trainer|"
        r"trains on a server|KTransformers|fewer than two bits|skips layers|not estimated|attention: |GradScaler|quantization\.bits")),
    ("the family is not simulated", re.compile(
        r"builds itself|is an? .{1,60}? model[^,]*, which is not simulated|is an? model .{1,60}, which is not simulated|has a head that is not simulated|not a model that snug knows|loads none that snug (knows|can simulate)|"
        r"calls no model that snug knows|fairseq's own|is a checkpoint with|not Llama|is not simulated")),
    ("the program cannot be followed", re.compile(r"cannot be followed|requires more than \d+ statements|loop \S+: ")),
    ("an unknown name", re.compile(r'(model\.name|--model|model) "[^"]*" is not known')),
    ("the files lack settings", re.compile(
        r"takes its settings from flags|is missing|samples keep their own lengths|no file|is not known: |which does not exist here|only known when the run starts|loads one whose name|lora\.rank")),
)
_LACKS = (("all of them, which come from flags", r"takes its settings from flags"), ("the length", r"seq is missing|samples keep their own lengths"),
          ("the model", r"no file names the model|model is missing|model: \S+ \S+ is not known|loads one whose name"),
          ("the batch", r"no file contains the batch|batch is missing"), ("other settings", r""))


def reason(row):
    """Returns why a run gets no answer, and what its refusal names."""
    if row["outcome"] != "refused":
        return row["outcome"], ""
    for name, pattern in REASONS:
        found = pattern.search(row["error"])
        if found:
            return name, named(name, row, found.group(0))
    return "another reason", shape(row["error"])


def named(name, row, words):
    text = row["error"]
    if name == "the files lack settings":
        what = next(w for w, p in _LACKS if re.search(p, text))
        return f"{what} ({row['system']})"
    if name == "an unknown name":
        return re.search(r'"([^"]*)" is not known', text).group(1)
    kind = re.search(r" is (an? .*?), which is not simulated", text)
    if name == "the family is not simulated" and kind and "builds itself" not in text:
        return kind.group(1)
    if name == "the program cannot be followed":
        return row["system"]
    if name == "another objective":
        return f"{words} ({row['system']})"
    return f"{shape(text)[:100]} ({row['system']})"


def shape(text):
    """Returns a refusal without its places and numbers."""
    text = re.sub(r"^(\w+(\.\w+)*: )?\S*[\w)]\.(ya?ml|sh|py|json|toml|slurm|sbatch|conf)(:\d+)?: ", "", text)
    text = re.sub(r"[\w./+\-@()]+\.(ya?ml|sh|py|json|toml|slurm|sbatch|conf)(:\d+)?", "FILE", text)
    return re.sub(r"; (this is not estimated|measure|record|give).*", "", text)


def report(rows):
    """Returns the table and the lists, as Markdown."""
    groups = {}
    for row in rows:
        name, what = reason(row)
        groups.setdefault(name, {}).setdefault(what, []).append(row)
    order = sorted(groups, key=lambda g: -sum(map(len, groups[g].values())))
    out = ["| runs | reason |", "| --- | --- |"]
    out += [f"| {sum(map(len, groups[g].values()))} | {g} |" for g in order]
    for g in order:
        if g == "answered":
            continue
        out.append(f"\n## {g}\n")
        for what, found in sorted(groups[g].items(), key=lambda x: -len(x[1])):
            first = found[0]
            out.append(f"- {len(found)} × {what}: `{first['project']}/{first['path']}`")
    return "\n".join(out)


if __name__ == "__main__":
    print(report([json.loads(line) for line in sys.stdin]))
