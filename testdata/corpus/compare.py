# SPDX-License-Identifier: Apache-2.0
"""Compares the contents of a run's files with the setup that snug used."""
import re

WORD = r"(?:^|[_\-./ ])(%s)(?:$|[_\-./ \d])"
# Other objectives, by their names in programs, values and classes.
OBJECTIVES = {
    "preferences": r"dpo|orpo|simpo|cpo|ipo|kto|bco|tpo",
    "reinforcement learning": r"ppo|grpo|rloo|reinforce|rlhf|online_dpo|xpo|gspo|dapo",
    "reward": r"rm|reward|reward_modeling|prm|reward_model",
    "distillation": r"distill\w*|gkd|kd|minillm",
    "embeddings": r"embedding|contrastive|infonce|simcse|biencoder|dense_retrieval|reranker|cross_encoder",
    "multiple choice": r"swag|multiple_choice|mcqa",
    "classification": r"seq_cls|sequence_classification|classification|glue|text_classification|token_classification|ner",
    "question answering": r"qa|squad",
    "diffusion": r"diffusion|dreambooth|text_to_image|controlnet|textual_inversion|mdlm|unconditional",
    "speech": r"speech|ctc|asr|audio|tts",
}
_OBJECTIVE_KEYS = re.compile(r"^(rl|trainer_type|stage|rlhf_type|loss_type|task_type|task|trainer|objective|loss|_component_|loss_fn|algorithm|algo|method|train_type|problem_type)$")
_CLASSES = {"DPO": "preferences", "ORPO": "preferences", "KTO": "preferences", "CPO": "preferences", "SimPO": "preferences", "BCO": "preferences",
            "PPO": "reinforcement learning", "GRPO": "reinforcement learning", "RLOO": "reinforcement learning", "Reward": "reward", "PRM": "reward",
            "GKD": "distillation", "Distill": "distillation", "SequenceClassification": "classification", "TokenClassification": "classification",
            "MultipleChoice": "multiple choice", "QuestionAnswering": "question answering", "CTC": "speech", "SpeechSeq2Seq": "speech"}


_FILES = re.compile(r"\S*/\S+|\S+\.(?:sh|ya?ml|py|json|toml|slurm)\b\S*")
# snug's name for the system that reads a file, by its real name; and the projects whose files belong to one.
SYSTEMS = {"autotrain": "autotrain", "axolotl": "axolotl", "llama-factory": "llama-?factory|llamafactory", "torchtune": "torchtune", "oumi": "oumi", "nanotron": "nanotron", "litgpt": "litgpt",
           "llm-foundry": "composer|llm-foundry", "torchtitan": "torchtitan", "ms-swift": "swift", "open-instruct": "open.instruct", "openrlhf": "openrlhf",
           "flagembedding": "flagembedding", "tevatron": "tevatron", "sentence-transformers": "sentence.transformers", "unsloth": "unsloth", "trl program": "trl|sftconfig",
           "gpt-neox": "neox", "olmo": "olmo", "nemo": "nemo", "fairseq": "fairseq", "megatron": "megatron", "lingua": "lingua", "verl": "verl", "setfit": "setfit", "xtuner": "xtuner"}
PROJECTS = {"huggingface/alignment-handbook": "trl", "huggingface/open-r1": "trl", "princeton-nlp/SimPO": "trl", "allenai/open-instruct": "open.instruct"}


def suspicions(got, facts):
    """Returns (cause, evidence) for every difference that no note mentions."""
    check = Check(got, facts)
    for test in (check.system, check.objective, check.path, check.own_model, check.model, check.attention, check.texts, check.batch, check.accumulation, check.length, check.precision, check.checkpointing,
                 check.optimizer, check.adapters, check.bits, check.sharding, check.gpus, check.splits, check.unused):
        test()
    return check.found


class Check:
    """One answered run: its setup, its notes, and the facts by key."""

    def __init__(self, got, facts):
        self.got, self.setup, self.facts, self.found = got, got["setup"], facts, []
        self.notes = _FILES.sub("", " ".join(got["notes"])).lower()
        self.shown = _FILES.sub("", got["shown"].split("settings of")[0]).lower()
        self.several = next((v for k, v, _ in facts if k == "(commands)"), 1) > 1

    def values(self, *names, code=True):
        """Returns the values of keys with one of these last names: first from the run's own files, then from its program."""
        out = []
        for k, v, w in self.facts:
            leaf = k.split(".")[-1].lower().replace("-", "_")
            if leaf in names and v is not None and (code or not k.startswith("(code)")):
                out.append((k, v, w))
        own = [x for x in out if not x[0].startswith(("(code)", "(default)"))]
        return own or out

    def noted(self, *words):
        return any(w.lower() in self.notes for w in words)

    def say(self, cause, key, value, where=""):
        self.found.append((cause, f"{key} = {str(value)[:80]}; snug read {self.read()}"))

    def read(self):
        s = self.setup
        return ", ".join(f"{k} {s[k]}" for k in ("batch", "seq", "accumulation", "precision", "optimizer", "rank", "bits", "dist", "gpus") if s.get(k)) + (", checkpointing" if s["checkpointing"] else "")

    def system(self):
        """Checks the system, which decides the defaults: the wrong system makes the answer wrong, unless a note names it."""
        truth = PROJECTS.get(self.got["project"]) if self.got["system"] in ("trainer", "trainer flags") else None
        truth = truth or SYSTEMS.get(self.got["system"])
        took = self.setup.get("system") or ""
        if not took or "…" in took:
            took = f"a loop of {self.setup['loop']}" if self.setup.get("loop") in ("trainer", "script") else ""
        if self.got["system"] == "trl program" and "TrainingArguments" in took and "SFTConfig" not in {v for k, v, _ in self.facts if k.endswith("(call)")}:
            return  # then TRL's trainer uses the defaults of the arguments class it is given
        if self.got["system"] in ("sentence-transformers", "trl program") and self._followed():
            return  # the simulation follows the program into its library
        if self.got["kind"] == "program" and self.noted("the program takes its settings from flags; the flags in", "in its documentation"):
            return  # a command that starts the program is read instead, and a note says so
        if truth and took and not re.search(truth, took.lower()) and not re.search(truth, self.notes) and not re.search(r"loop of " + truth, self.shown) and not self.noted("has its own defaults, which snug does not know"):
            self.say(f"a file of {self.got['system'] if self.got['system'] in SYSTEMS else truth} read as {took}", "file", self.got["path"])
        if took.startswith("a shell script with") and self._argparse() and "adamw-fused" in self.shown and not self.values("optim", code=False) and not self.noted("default"):
            self.say("a program with its own arguments read with the defaults of TrainingArguments", "program", next((v for k, v, _ in self.facts if k == "(program)"), ""))

    def _argparse(self):
        names = {v for k, v, _ in self.facts if k in ("(code).(call)", "(code).(import)")}
        return "ArgumentParser" in names and not any(re.search(r"TrainingArguments|HfArgumentParser|TrlParser|SFTConfig", str(n)) for n in names)

    def path(self):
        """Returns the names of the file and its folder, which usually describe the run."""
        tail = "/".join(self.got["path"].lower().split("/")[-3:])
        tail = re.sub(r"\.\w+$", "", tail)
        if re.search(WORD % "qlora|4bit", tail) and not self.setup["bits"] and not self.noted("4-bit", "4bit", "quantiz", "bits"):
            self.say("4-bit weights are not in the answer", "path", self.got["path"])
        elif re.search(WORD % "lora|dora", tail) and not self.setup["rank"] and not self.noted("lora", "adapter", "peft"):
            self.say("LoRA is not in the answer", "path", self.got["path"])
        seen, folders = {c for c, _ in self.found}, "/".join(self.got["path"].lower().split("/")[-6:])
        if re.search(r"sft|pretrain|supervised|/continued?_", folders):
            return
        for name in ("preferences", "reinforcement learning", "reward", "distillation", "diffusion"):
            if re.search(WORD % OBJECTIVES[name], folders) and f"objective: {name}" not in seen and not self._compares(name) and not self.noted(name, "not a loss over tokens", "not an objective that snug knows", "head that is not simulated", "so a loss over tokens is assumed"):
                self.say(f"objective: {name}", "path", self.got["path"])

    def own_model(self):
        own = sorted({str(v) for k, v, _ in self.facts if re.sub(r"^\(code\)\.", "", k).startswith("(loads)") and self._is_on(k.partition("(loads)")[2][1:])})
        if own and not self.noted(*own) and not self.noted("no model that snug knows", "is not followed", "not followed"):
            self.say("a model class of the project's own", "class", " ".join(own))

    def _is_on(self, switch):
        """Returns whether a program's switch is given or on by default; an empty switch is always on."""
        return not switch or any(_true(v) for _, v, _ in self.values(switch))

    def attention(self):
        flash = [x for x in self.values("flash_attention", "use_flash_attn", "use_flash_attention_2", "use_flash_attention", "flash_attn", "attn_implementation", "attn_impl", "use_flash_attn_2", "_attn_implementation")
                 if not x[0].startswith(("(code)", "(default)", "(file)")) and (_true(x[1]) or "flash" in str(x[1]).lower() or x[1] == "fa2")]
        if flash and self.setup.get("attention") and "flash" not in self.setup["attention"] and not self.several and not self.noted("flash", "attention"):
            self.say("attention", *flash[0])

    def _followed(self):
        """Returns whether the answer simulates the program's own loop, with its trainer and losses."""
        return self.got["kind"] == "program" and "loop of" in self.shown and self.got["path"] in " ".join(self.got["shown"].split())

    def texts(self):
        if self._followed():
            return
        if self.got["system"] == "sentence-transformers" and "positive" not in self.shown and not self.noted("positive", "pair", "texts", "several losses"):
            self.say("several texts per sample", "system", "sentence-transformers")

    def objective(self):
        seen = set()
        self._hidden_objective(seen)
        for k, v, _ in self.facts:
            leaf = k.split(".")[-1].lower()
            if leaf == "_component_" and not k.startswith(("loss", "model")):
                continue  # torchtune's dataset or optimizer
            if k == "(program)" or _OBJECTIVE_KEYS.match(leaf) and isinstance(v, str) and not k.startswith("(code)"):
                self._objective_word(leaf if k != "(program)" else "program", str(v), seen)
            elif k in ("(call)", "(code).(call)"):
                self._objective_class(str(v), seen)
            elif leaf in ("teacher_model", "teacher_model_name_or_path", "teacher") and v and not k.startswith(("(code)", "(default)")):
                self._objective(leaf, v, "distillation", seen)
            elif leaf in ("do_train",) and _false(v) and not k.startswith(("(code)", "(default)")):
                self._objective(leaf, v, "no training", seen)
            elif leaf in ("num_labels", "num_generations", "reward_funcs", "ref_model", "dpo_beta", "simpo_gamma", "orpo_alpha") and v and k in (leaf, f"model.{leaf}", f"training.{leaf}"):
                self._objective(leaf, v, leaf, seen)

    # Keys that only another objective has, by what they mean.
    _HIDDEN = {"pre_seq_len": "prefix", "simcse_dropout": "embeddings", "pooling_mode": "embeddings", "bidirectional": "attention in both directions", "mlm_probability": "masked-lm"}

    def _hidden_objective(self, seen):
        """Checks keys that belong to an objective without naming it."""
        for k, v, _ in self.facts:
            name = self._HIDDEN.get(k.split(".")[-1].lower().replace("-", "_"))
            if name and v and not _false(v) and not k.startswith(("(code)", "(default)")) and not self._followed() and not (name == "masked-lm" and re.search("bert|electra|mpnet|mini-?lm", self.setup["model"].lower())):
                self._objective(k, v, name, seen)

    def _objective_word(self, key, value, seen):
        low = re.sub(r"\.py$", "", value.lower())
        for name, words in OBJECTIVES.items():
            if re.search(WORD % words, low):
                self._objective(key, value, name, seen)

    def _objective_class(self, name, seen):
        m = re.match(r"^(\w+?)(Trainer|Config)$", name) or re.match(r"^AutoModelFor(\w+)$", name)
        if m:
            for sign, objective in _CLASSES.items():
                if sign in m.group(1) and not name.startswith("AutoConfig") and not (sign == "QuestionAnswering" and "Seq2Seq" in name):  # that one generates its answers
                    self._objective("class", name, objective, seen)

    def _objective(self, key, value, name, seen):
        if name in seen or self.noted(str(value)) or name in self.shown or name == "classification" and ("classification" in self.shown or self.noted("classification: counted as", "counted as a sentence encoder")):
            return
        if name.replace(" ", "-") == self.setup.get("head"):
            return
        if name == "embeddings" and "positives" in self.shown:
            return
        if self._compares(name):
            return
        seen.add(name)
        self.say(f"objective: {name}", key, value)

    _LOOPS = {"preferences": "[a-z-]+-(dpo|kto|orpo|cpo)", "orpo_alpha": "[a-z-]+-(orpo|dpo)", "dpo_beta": "[a-z-]+-dpo", "simpo_gamma": "[a-z-]+-(cpo|dpo)", "reward": "trl-reward", "reinforcement learning": "trl-grpo", "num_generations": "trl-grpo", "reward_funcs": "trl-grpo", "num_labels": "trl-reward"}

    def _compares(self, name):
        """Reports whether the answer is for a trainer with this objective."""
        if name in ("preferences", "reward") and self._followed() and self.got["system"] == "trl program":
            return True
        if name == "distillation" and self._followed() and self.got["system"] == "sentence-transformers":
            return True  # the teacher's scores are in the data, or the program computes them
        return name in self._LOOPS and re.search(f"loop of {self._LOOPS[name]}", self.shown)

    def model(self):
        names = [x for x in self.values("model_name_or_path", "base_model", "pretrained_model_name_or_path", "model_id", "model_name", "model", "model_path", "pretrain", "pretrained_model_path", code=False)
                 if isinstance(x[1], str) and re.match(r"^[\w.-]+/[\w.-]+$", x[1]) and not x[0].startswith("(file)")]
        if not names or self.several:
            return
        took = re.sub(r"[^a-z0-9]", "", re.sub(r"-\d{4}(?=-|$)", "", self.setup["model"].lower().split("/")[-1]))
        for k, v, w in names:
            said = re.sub(r"[^a-z0-9]", "", re.sub(r"-\d{4}(?=-|$)", "", v.lower().split("/")[-1]))  # without the release month
            if took == said or took in said or said in took or self._alike(took, said):
                return
        if not self.noted(names[0][1]):
            self.say("another model", names[0][0], f"{names[0][1]} (snug: {self.setup['model']})")

    @staticmethod
    def _alike(a, b):
        """Returns whether one name contains the other, comparing letters and digits without chat, instruct and so on."""
        clean = lambda x: re.sub(r"(meta|chat|instruct|base|hf|it|uncased|cased|deduped|bnb4bit|v\d+|\d{4}$)", "", x)
        return clean(a) in clean(b) or clean(b) in clean(a)

    def number(self, setting, causes, *names):
        values = [(k, v, w) for k, v, w in self.values(*names) if _int(v) is not None and not k.startswith(("(code).(default)", "(default)"))]
        if not values or self.several:
            return
        if _int(values[0][1]) != self.setup.get(setting) and all(_int(v) != self.setup.get(setting) for _, v, _ in values):
            if not self.noted(values[0][0].split(".")[-1]) and _int(values[0][1]) > 0:
                self.say(causes, *values[0])

    def batch(self):
        self.number("batch", "batch", "per_device_train_batch_size", "micro_batch_size", "micro_train_batch_size", "per_gpu_train_batch_size",
                    "train_micro_batch_size_per_gpu", "device_train_microbatch_size", "local_batch_size", "device_batch_size", "micro_bsz")

    def accumulation(self):
        values = [x for x in self.values("gradient_accumulation_steps", "grad_accum_steps", "accumulate_grad_batches", "batch_accumulation_per_replica") if _int(x[1]) is not None and not x[0].startswith(("(code)", "(default)"))]
        if values and not self.several and all(_int(v) != self.setup["accumulation"] for _, v, _ in values) and not self.noted("accumulation"):
            self.say("accumulation", *values[0])

    def length(self):
        names = ("max_seq_length", "max_seq_len", "max_length", "cutoff_len", "sequence_len", "seq_len", "seq_length", "sequence_length", "model_max_length",
                 "block_size", "max_sequence_length", "max_len", "max_source_length", "max_seq_length_train", "truncate_max_length")
        values = [x for x in self.values(*names) if _int(x[1]) and not x[0].startswith(("(code)", "(file)"))]
        if not values or self.several or not self.setup.get("seq"):
            return
        if self.setup["seq"] not in [_int(v) for _, v, _ in values] and not self.noted(*[k.split(".")[-1] for k, _, _ in values]):
            self.say("length", *values[0])

    def precision(self):
        took = self.setup.get("precision") or ""
        on = {n for n in ("bf16", "fp16") if any(_true(v) for k, v, _ in self.values(n) if not k.startswith(("(code).(default)", "(default)")))}
        on |= {"bf16"} & {n for n, words in (("bf16", ("pure_bf16",)),) if any(_true(v) for _, v, _ in self.values(*words))}
        if len(on) == 1 and not self.several:
            want = on.pop()
            if want not in took and not self.noted(want, "precision"):
                self.say("precision", want, "true")

    def checkpointing(self):
        names = ("gradient_checkpointing", "activation_checkpointing", "enable_activation_checkpointing", "fsdp_activation_checkpointing", "recompute_layer", "use_gradient_checkpointing", "use_activation_checkpointing")
        values = [x for x in self.values(*names) if not x[0].startswith(("(code).(default)", "(default)")) and not isinstance(x[1], (dict, list))]
        if not values or self.several or self.noted("checkpointing"):
            return
        on = any(_true(v) or v in ("unsloth", "full", "offload") for _, v, _ in values)
        off = any(_false(v) for _, v, _ in values)
        if on and not self.setup["checkpointing"]:
            self.say("checkpointing on in the file", *[x for x in values if not _false(x[1])][0])
        if off and not on and self.setup["checkpointing"]:
            self.say("checkpointing off in the file", *values[0])

    def optimizer(self):
        values = [x for x in self.values("optim", "optimizer", "optimizer_name", "optimizer_type", "optim_type") if isinstance(x[1], str) and not x[0].startswith(("(code)", "(default)"))]
        values += [(k, v, w) for k, v, w in self.facts if re.search(r"^(\(file\)\.)?optimizer\.(type|name|_component_)$", k) and isinstance(v, str)]
        took = self.setup.get("optimizer") or ""
        for k, v, w in values[:1]:
            if self.several or self.noted(v, "optimizer"):
                return
            low = v.lower()
            for sign, need in (("8bit", "8bit"), ("adafactor", "adafactor"), ("sgd", "sgd"), ("lion", "lion"), ("galore", "galore"), ("muon", "muon"), ("lomo", "lomo"), ("apollo", "apollo"), ("adam", "adam"), ("ademamix", "ademamix"), ("sophia", "sophia"), ("lamb", "lamb")):
                if sign in low:
                    if need not in took:
                        self.say("optimizer", k, v)
                    return

    def adapters(self):
        rank = self.setup.get("rank")
        own = lambda *names: [x for x in self.values(*names, code=False) if not x[0].startswith("(default)")]
        off = any(_false(v) for _, v, _ in own("use_lora", "use_peft", "lora_enable", "lora", "use_qlora")) or any(v in ("full", "freeze") for _, v, _ in own("finetuning_type", "train_type", "tuner_type", "sft_type"))
        on = [x for x in own("use_lora", "use_peft", "lora_enable", "q_lora", "use_qlora", "lora") if _true(x[1])]
        on += [x for x in own("finetuning_type", "train_type", "tuner_type", "sft_type", "adapter", "peft_type", "lora_type", "train_mode", "tuner_backend", "method") if str(x[1]).lower() in ("lora", "qlora", "dora", "adalora", "longlora")]
        on += [] if off else [x for x in own("lora_r", "lora_rank", "lora_dim") if _int(x[1])]
        on += [x for x in self.facts if x[0] in ("(call)", "(code).(call)") and x[1] in ("get_peft_model", "LoraConfig") and self.got["kind"] == "program" and not self.noted("from flags, which are counted with their defaults")]
        on += [x for x in self.facts if re.search(r"_component_$", x[0]) and "lora" in str(x[1]).lower()]
        followed = self._followed() and (re.search(r"trained \(\d", self.got["shown"]) or self._optional(on))
        if on and all(x[0] in ("(call)", "(code).(call)") for x in on) and self._says_off("lora", "use_lora"):
            on = []  # the adapters are made in a branch that is not executed
        if on and not rank and not followed and not self.noted("lora", "adapter", "peft"):  # a followed program adds its adapters itself
            self.say("LoRA is not in the answer", *on[0])
        ranks = [x for x in own("lora_r", "lora_rank") if _int(x[1])] + [x for x in self.facts if x[0] == "LoraConfig.r" and _int(x[1])]
        if rank and ranks and not self.several and all(_int(v) != rank for _, v, _ in ranks) and not self.noted("rank"):
            self.say("LoRA's rank", *ranks[0])
        if rank and off and not on:
            self.say("LoRA in the answer, none in the file", "rank", rank)

    def _optional(self, on):
        """Returns whether a program creates its adapters only if one of its switches, which is off by default, is on."""
        return all(x[0] in ("(call)", "(code).(call)") for x in on) and any(_false(v) for _, v, _ in self.values("use_lora", "use_peft", "lora", "use_qlora"))

    def _says_off(self, *names):
        """Returns whether the run's config, which the answer names, turns a switch off."""
        path = self.setup["files"].split(" (")[0]
        return path != self.got["path"] and any(_false(v) for k, v, _ in self.facts if k.split(".")[-1] in names)

    def bits(self):
        four = [x for x in self.values("load_in_4bit", "use_4bit", "use_4bit_quantization", "q_lora", "use_qlora", "load_4bit") if _true(x[1])]
        four += [x for x in self.values("quantization_bit", "bits", "quant_bits", "quantization_bits") if _int(x[1]) == 4]
        four += [x for x in self.values("quantize", "adapter", "load_precision", "train_mode", "method") if re.search(r"nf4|qlora|fp4", str(x[1]).lower())]
        four += [x for x in self.values("quantization") if x[1] == "int4"]
        eight = [x for x in self.values("load_in_8bit", "use_8bit", "load_8bit") if _true(x[1])] + [x for x in self.values("quantization_bit", "bits", "quant_bits") if _int(x[1]) == 8]
        four += [x for x in self.values("gptq", "quantization_method", "quant_method") if _true(x[1]) or str(x[1]).lower() in ("gptq", "awq")]
        own = lambda found: [x for x in found if not x[0].startswith(("(code)", "(default)"))]
        if any(_false(v) for _, v, _ in self.values("q_lora", "use_qlora", "qlora")):
            return  # the code that quantizes is in a branch that is not executed
        if own(four) and self.setup["bits"] != "4" and not self.noted("4bit", "4-bit", "quantiz", own(four)[0][0].split(".")[-1]):
            self.say("4-bit weights are not in the answer", *own(four)[0])
        if own(eight) and self.setup["bits"] != "8" and not self.noted("8bit", "8-bit", "quantiz"):
            self.say("8-bit weights are not in the answer", *own(eight)[0])
        if self.setup["bits"] and not four and not eight and not re.search(r"qlora|4bit|8bit", self.got["path"].lower()) and not any("bnb" in str(v).lower() or "4bit" in str(v).lower() for _, v, _ in self.facts):
            self.say(f"{self.setup['bits']}-bit in the answer, not in the file", "bits", self.setup["bits"])

    def sharding(self):
        stages = [x for x in self.values("stage", "zero_stage", "zero_optimization.stage") if _int(x[1]) in (1, 2, 3) and ("zero" in x[0] or "deepspeed" in x[0] or x[0].startswith("(file)"))]
        took = self.setup.get("dist") or ""
        if stages and not self.several and f"zero{_int(stages[0][1])}" not in took and not self.noted("zero", "deepspeed", "gpus"):
            self.say("ZeRO stage", *stages[0])
        fsdp = [x for x in self.values("fsdp") if x[1] and str(x[1]).strip() not in ("[]", "", "False", "None") and not x[0].startswith(("(code)", "(default)"))]
        if fsdp and not self.several and "fsdp" not in took and not self.noted("fsdp", "gpus"):
            self.say("FSDP", *fsdp[0])

    def gpus(self):
        names = ("nproc_per_node", "num_processes", "num_gpus", "num_gpus_per_node", "gpus_per_node", "n_gpus_per_node")
        values = [x for x in self.values(*names, code=False) if (_int(x[1]) or 0) > 1 and not x[0].startswith(("(default)",))]
        if values and not self.several and (self.setup.get("gpus") or 1) < _int(values[0][1]) and not self.noted("gpus"):
            self.say("number of GPUs", *values[0])

    def splits(self):
        visible = [v for k, v, _ in self.values("cuda_visible_devices", code=False) if isinstance(v, str)]
        procs = [_int(v) for _, v, _ in self.values("nproc_per_node", "num_processes", code=False) if _int(v)]
        if self.got["system"] == "ms-swift" and visible and len(visible[0].split(",")) > (procs[0] if procs else 1) and not self.noted("splits", "device_map"):
            self.say("layers split over the visible GPUs (device_map)", "CUDA_VISIBLE_DEVICES", visible[0])
        for k, v, w in self.facts:
            leaf = k.split(".")[-1].lower().replace("-", "_")
            if re.search(r"(tensor|pipeline|context|sequence|expert)_?(model_)?parallel\w*(size|degree)|^(tp|pp|cp|sp|ep|tp_size|pp_size|cp_size|sp_size)$", leaf) and (_int(v) or 0) > 1 and not k.startswith(("(code)", "(default)")):
                if not self.noted(leaf, "splits"):
                    self.say("layers or samples split over GPUs", k, v)
                    return

    _LOOKS = re.compile(r"^(qat|fp8|float8|mixture_of_depths|use_badam|use_galore|use_apollo|use_lisa|lisa\w*|spectrum\w*|quantizer|unfrozen_parameters|use_liger\w*|enable_liger\w*|use_unsloth|"
                        r"freeze_\w+|trainable_\w+|quantize\w*|quantization\w*|fp8_\w+|enable_fp8\w*|tuner_type|use_dora|peft_use_dora|use_llama_pro|offload_\w+|cpu_offload\w*|activation_offload\w*|"
                        r"use_eaft\w*|use_dft\w*|accumulate_grad_in_fp32|device_map|neftune\w*|optimizer_in_bwd|chunked_\w+|fused_linear\w*|cut_cross_entropy|relora\w*|moe_\w*|use_longlora|shift_attn|vision_tower|mm_\w+|train_vision\w*|image_\w+|torch_compile|compile)$", re.I)

    def unused(self):
        seen = set()
        used = ("use_dora", "peft_use_dora", "tuner_type", "quantize", "quantization_bit", "quantization_bits", "quantization_method", "quantization")
        for k, v, w in self.facts:
            leaf = k.split(".")[-1].lower().replace("-", "_")
            path = k.lower()
            if k.startswith(("(code)", "(default)", "(call)", "(import)")) or leaf in used or self.got["kind"] == "program":
                continue
            if self._LOOKS.match(leaf) or ".quantizer." in path or path.startswith(("qat.", "fp8.", "quantizer.")):
                if _true(v) or isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0 or isinstance(v, (str, list)) and v and not _false(v) and v not in ("none", "None"):
                    top = path.split(".")[0] if path.split(".")[0] in ("qat", "fp8", "quantizer") else leaf
                    if "_" in leaf and self.noted(*(w for w in leaf.split("_") if w in ("fp8", "lisa", "relora", "galore", "apollo", "badam"))):
                        continue  # another key turns it on, and is noted
                    if top not in seen and not any(self.noted(part) for part in path.split(".")[1:-1] if "_" in part) and not self.noted(leaf, leaf.replace("_", " "), top) and not self._shown(leaf, v):
                        seen.add(top)
                        self.say(f"not used and not noted: {top}", k, v)

    def _shown(self, leaf, value):
        if leaf == "image_min_pixels":
            return bool(self.setup.get("pixels"))  # the answer is for the largest image, to which the least size does not apply
        if leaf in ("image_max_pixels", "image_resolution"):
            return self.setup.get("pixels") and self.setup["pixels"] <= (_int(value) or 0)
        if leaf in ("freeze_vit", "freeze_aligner", "freeze_vision_tower", "freeze_multi_modal_projector"):
            return "vision projector frozen" in self.shown  # and the tower before it, of which it is the end
        return "liger" in leaf and ("liger" in self.shown or "liger has no kernels" in self.notes) or "offload" in leaf and "cpu memory" in self.notes or "compile" in leaf and "compile" in self.shown + self.notes


def _int(v):
    if isinstance(v, bool):
        return None
    try:
        f = float(v)
        return int(f) if f == int(f) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _true(v):
    return v is True or isinstance(v, str) and v.strip().lower() in ("true", "yes", "1", "on", "auto") or v == 1 and not isinstance(v, float)


def _false(v):
    return v is False or isinstance(v, str) and v.strip().lower() in ("false", "no", "off", "none", "null", "0") or v == 0 and v is not None and not isinstance(v, (list, str))
