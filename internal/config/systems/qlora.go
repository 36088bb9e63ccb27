// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

const qloraArgs = "artidoro/qlora, qlora.py"

// qlora is the program of the QLoRA paper, which many have copied: transformers' Trainer, with 4-bit weights by
// default. A sample is a source and a target, each with its own maximum length.
var qlora = System{
	Name: "qlora", Title: "qlora.py", Formats: shellOnly, ByName: true,
	Makes:    pattern.New(`(?m)^[^#\n]*\bqlora\.py\b`, "qlora.py"),
	Keys:     keysOf(func() []Key { return flagsOf(qloraKeys(), anyLauncher()) }),
	Finding:  programFinding(),
	Behavior: Behavior{JoinsTarget: true},
	Loading: Loading{
		Loop: "trainer", LoadsTyped: true, Computes: ComputesAsHeld,
		PreparesQuantized: true, CastsBack: true, QuantizedAdapters: "bf16", CastsIfBF16: true, // get_accelerate_model
	},
	Sharding: Sharding{GathersInAutocast: true},
}

// qloraScript is qlora.py itself, started without flags, or a copy of it under another name. Its arguments and their
// defaults are read from its own classes.
var qloraScript = System{
	Name: "qlora-script", Title: "a copy of qlora.py", Formats: []doc.Format{doc.Python}, ByName: true,
	Makes: pattern.New(`(?s)\bsource_max_len\b.*?\bdef get_accelerate_model\(.*?\bfind_all_linear_names\(`, "source_max_len", "get_accelerate_model", "find_all_linear_names"), For: &qlora,
	Finding: Finding{Startable: true, Arguments: trainingArguments}, Behavior: Behavior{KnownProgram: true},
	Keys: keysOf(func() []Key { return scriptKeys(qloraKeys()) }),
}

func qloraKeys() []Key {
	defaults := map[string]string{
		TrainerBatch: "1", "gradient_accumulation_steps": "16", "optim": "paged_adamw_32bit", "max_grad_norm": "0.3", "gradient_checkpointing": "true",
	}
	var keys []Key
	for _, k := range hfKeys() {
		if v := defaults[k.Path]; v != "" {
			k.Default, k.Source = v, qloraArgs+": TrainingArguments"
		}
		keys = append(keys, k)
	}
	return append(keys,
		Key{Setting: "checkpointing", Path: "no_gradient_checkpointing", Kind: Switch, Inverted: true, Source: "transformers 5.22, hf_argparser.py: the flag that turns a default off"},
		Key{Setting: "weights", Path: "bf16", Kind: Switch, Means: "bf16", Source: qloraArgs + ": get_accelerate_model"},
		Key{Setting: "seq", Path: "source_max_len", Kind: Whole, Unit: "tokens", Default: "1024", Source: qloraArgs + ": DataArguments"},
		Key{Setting: "target_seq", Path: "target_max_len", Kind: Whole, Unit: "tokens", Default: "256", Source: qloraArgs + ": DataArguments"},
		Key{Setting: "lora", Path: "full_finetune", Kind: Switch, Inverted: true, Default: "false", Source: qloraArgs},
		Key{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Default: "64", Source: qloraArgs},
		Key{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "16", Source: qloraArgs},
		Key{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.0", Source: qloraArgs},
		Key{Setting: "lora.targets", Kind: Names, Default: "all-linear", Source: qloraArgs + ": find_all_linear_names"},
		Key{Setting: "lora.peft", Kind: Switch, Default: "true", Source: qloraArgs + "; " + upcast},
		Key{Setting: "quantized", Path: "bits", Kind: Word, Words: []Term{{"4", FourBit}, {"8", EightBit}, {"16", ""}, {"32", ""}}, Means: "fewer bits", Default: "4",
			Quantizer: &Quantizer{Type: "nf4", Double: true}, Source: qloraArgs},
		Key{Setting: "quantization.type", Path: "quant_type", Kind: Word, Words: quantTypes, Default: "nf4", Source: qloraArgs},
		Key{Setting: "quantization.double", Path: "double_quant", Kind: Switch, Default: "true", Source: qloraArgs},
		less("adam8bit", "keeps optimizer states in 8 bits", qloraArgs),
	)
}
