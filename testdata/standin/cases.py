"""Writes random cases: models of the committed recordings with other shapes and options.

usage: cases.py SEED COUNT > CASES.jsonl"""
import glob, gzip, json, os, random, sys

here = os.path.dirname(os.path.abspath(__file__))
chance = random.Random(int(sys.argv[1]))
known = []
for path in sorted(glob.glob(here + "/../measured/ops*/*.txt.gz")):
    head = gzip.open(path, "rt").readline()
    case = json.loads(head[2:]) if head.startswith("# {") else {}
    # convolutions and recurrent layers need workspaces that the stand-in does not know
    if case.get("model") == "hf" and case.get("head") in ("causal", "masked", "plain", "seq2seq") and "dist" not in case and case["model_type"] not in ("mamba", "mamba2"): known.append(case)

for i in range(int(sys.argv[2])):
    c = dict(chance.choice(known))
    for k in ("checkpointing", "clip", "attn", "mask", "lora", "tgt"): c.pop(k, None)
    c["batch"], c["seq"] = chance.randint(1, 9), chance.choice([chance.randint(3, 40), chance.randint(41, 200), 8 * chance.randint(5, 60)])
    c["precision"] = chance.choice(["fp32", "bf16", "amp-bf16", "amp-bf16"])
    c["optimizer"] = chance.choice(["adamw", "adamw", "adamw_fused", "adamw_loop", "sgd", "sgdm", "adafactor"])
    if chance.random() < 0.3: c["checkpointing"] = True
    if chance.random() < 0.2: c["clip"] = True
    if chance.random() < 0.2: c["attn"] = "eager"
    if chance.random() < 0.2: c["mask"] = False
    c["id"] = "random-%s-%d-%s" % (sys.argv[1], i, c["model_type"])
    print(json.dumps(c))
