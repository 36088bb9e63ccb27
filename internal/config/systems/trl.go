// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"snug/internal/config/doc"
	"snug/internal/setup"
)

const (
	trlSFT  = "trl 1.16, trainer/sft_config.py"
	trlPEFT = "trl 1.16, trainer/sft_trainer.py: get_peft_model; " + upcast
)

// trl is for TRL's configs (SFTConfig, DPOConfig, …) with its ModelConfig, as TrlParser reads them from YAML:
// TrainingArguments with other defaults.
var trl = System{
	Name: "trl", Title: "TRL", Formats: []doc.Format{doc.YAML, doc.JSON},
	// transformers' own scripts have dataset_name and attn_implementation too.
	Signs: []string{
		"per_device_train_batch_size use_peft", "per_device_train_batch_size lora_r",
		"per_device_train_batch_size max_length", "per_device_train_batch_size packing",
		"per_device_train_batch_size loss_type", "per_device_train_batch_size beta",
		"per_device_train_batch_size max_prompt_length", "per_device_train_batch_size max_completion_length",
		"per_device_train_batch_size dataset_mixer", "per_device_train_batch_size dataset_mixture", "per_device_train_batch_size chat_template", "per_device_train_batch_size use_flash_attention_2",
		"per_device_train_batch_size num_generations", "per_device_train_batch_size center_rewards_coefficient",
	},
	Lacks: "use_lora", // in the files of programs that pass transformers' arguments and their own to a parser
	Keys:  keysOf(trlKeys),

	Behavior: Behavior{UsesTRL: true, RefusesTwoSwitches: true},
	Loading: Loading{
		Loop: "trl", LoopLoss: "trl", AnswerLoops: trlAnswers,
		LoadsTyped: true, TypeIsPrecision: true, Computes: ComputesAsHeld,
		QuantizedAdapters: "bf16", // 1.16, trainer/sft_trainer.py
	},
	Sharding: Sharding{GathersInAutocast: true},
}

func trlKeys() []Key {
	keys := []Key{
		// The type of the weights, if set, takes precedence over autocast.
		{Setting: "precision", Path: "dtype", Kind: Word, Words: trlWeights, Source: trlModel},
		{Setting: "precision", Path: "torch_dtype", Kind: Word, Words: trlWeights, Source: trlModel + " (until 0.24)"},
	}
	for _, k := range hfKeys() {
		switch k.Path {
		case "bf16":
			k.Default, k.Source = "true", "trl 1.16, trainer/base_config.py"
			keys = append(keys, k.decidingAutocast())
		case "fp16":
			keys = append(keys, k.decidingAutocast())
		case "gradient_checkpointing":
			k.Default, k.Source = "true", "trl 1.16, trainer/base_config.py"
		}
		keys = append(keys, k)
	}
	keys = append(keys, trlObjectives()...)
	return append(keys,
		Key{Setting: "loss", Path: "loss_type", Kind: Word, Words: trlLosses, Default: "nll", Source: trlSFT + "; the model's own before 1.6"},
		Key{Setting: "chunks", Path: "loss_type", Kind: Word, Words: append([]Term{{"chunked_nll", "yes"}, {"nll", "no"}, {"dft", "no"}}, answerLosses("no")...), Source: trlSFT},
		Key{Setting: "seq", Path: "max_length", Kind: Whole, Unit: "tokens", Default: "1024", Source: trlSFT},
		Key{Setting: "seq", Path: "max_seq_length", Kind: Whole, Unit: "tokens", Source: trlSFT + " (until 0.16)"},
		Key{Setting: "attention", Path: "use_flash_attention_2", Kind: Word, Words: []Term{{"true", "flash"}, {"false", ""}}, Source: "alignment-handbook 0.3, src/alignment/configs.py"},
		Key{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Default: "16", Source: trlModel},
		Key{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "32", Source: trlModel},
		Key{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.05", Source: trlModel},
		Key{Setting: "lora.targets", Path: "lora_target_modules", Kind: Names, Source: trlModel},
		Key{Setting: "lora.peft", Kind: Switch, Default: "true", Source: trlPEFT},
		Key{Setting: "weights", Path: "dtype", Kind: Word, Words: torchTypes, Default: "float32", Source: trlModel},
		Key{Setting: "weights", Path: "torch_dtype", Kind: Word, Words: torchTypes, Source: trlModel + " (until 0.24)"},
		Key{Setting: "lora.dora", Path: "use_dora", Kind: Switch, Source: trlModel},
		Key{Setting: "lora.save", Path: "lora_modules_to_save", Kind: Names, Source: trlModel},
		Key{Setting: "uncounted", Path: "lora_target_parameters", Kind: Names, Source: trlModel},
		Key{Setting: "lora", Path: "use_peft", Kind: Switch, Default: "false", Source: trlModel},
		Key{Setting: "quantization.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Default: "nf4", Source: trlModel},
		Key{Setting: "quantization.double", Path: "use_bnb_nested_quant", Kind: Switch, Default: "false", Source: trlModel},
		Key{Setting: "quantized", Path: "load_in_4bit", Kind: Switch, Means: "4 bits", Source: trlModel},
		Key{Setting: "quantized", Path: "load_in_8bit", Kind: Switch, Means: "8 bits", Source: trlModel},
	)
}

// trlWeights are the types that weights are loaded in. With "auto" or float32, the keys bf16 and fp16 set the
// precision.
var trlWeights = []Term{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", ""}, {"auto", ""}}

// trlLosses are the values of SFTConfig's loss_type. Since 1.15 none of these losses has all logits in memory at
// once; they differ only in what they compute from the probabilities.
var trlLosses = append([]Term{{"nll", setup.TRLLoss}, {"dft", setup.TRLLoss}, {"chunked_nll", setup.TRLLoss}}, answerLosses("")...)
