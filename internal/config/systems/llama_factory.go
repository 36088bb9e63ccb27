// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
	"snug/internal/setup"
)

const llamaFactoryArgs = "llamafactory 0.9.5, hparams"

// llamaFactory is LLaMA-Factory's YAML: TrainingArguments, with its own names for the rest. Checkpointing
// is on unless the key turns it off.
var llamaFactory = System{
	Name: "llama-factory", Title: "LLaMA-Factory", Formats: []doc.Format{doc.YAML, doc.JSON},
	Signs: []string{
		"model_name_or_path finetuning_type", "model_name_or_path cutoff_len", "model_name_or_path stage template",
		"model_name_or_path disable_gradient_checkpointing",
	},
	Keys: keysOf(llamaFactoryKeys),

	Loading: Loading{
		Loop: "trainer", CastsTrained: true, // 0.9.5, model/adapter.py: init_adapter
		Reentrant:   &Reentrance{Answers: true, Except: setup.FSDP2}, // model/model_utils/checkpointing.py
		AnswerLoops: map[string]string{"dpo": setup.FactoryDPOLoop, "kto": setup.FactoryKTOLoop}, AnswerKeys: []string{"ref_model"},
	},
	Sharding: Sharding{GathersInAutocast: true},
}

func llamaFactoryKeys() []Key {
	args := llamaFactoryArgs
	keys := []Key{{Setting: "precision", Path: "pure_bf16", Kind: Switch, Means: "bf16", Source: args + "/finetuning_args.py"}}
	for _, k := range hfKeys() {
		switch k.Path {
		case "gradient_checkpointing", "attn_implementation", "gradient_checkpointing_kwargs.use_reentrant":
			continue
		case "bf16", "fp16":
			keys = append(keys, k.decidingAutocast())
		}
		keys = append(keys, k)
	}
	keys = append(keys, llamaFactoryUnsimulated(args)...)
	return append(keys,
		Key{Setting: "checkpointing", Path: "disable_gradient_checkpointing", Kind: Switch, Inverted: true, Default: "false", Source: args + "/model_args.py"},
		Key{Setting: "use_reentrant", Path: "use_reentrant_gc", Kind: Switch, Source: args + "/model_args.py"},
		Key{Setting: "seq", Path: "cutoff_len", Kind: Whole, Unit: "tokens", Default: "2048", Source: args + "/data_args.py"},
		Key{Setting: "attention", Path: "flash_attn", Kind: Word, Default: "auto",
			Words: []Term{{"sdpa", "sdpa"}, {"auto", "sdpa"}, {"disabled", "eager"}, {"fa2", "flash"}, {"fa3", "flash"}}, Source: args + "/model_args.py"},
		Key{Setting: "lora", Path: "finetuning_type", Kind: Word, Default: "lora",
			Words: []Term{{"full", "false"}, {"lora", "true"}, {"freeze", "false"}}, Source: args + "/finetuning_args.py"},
		Key{Setting: "lora.rank", Path: "lora_rank", Kind: Whole, Default: "8", Source: args + "/finetuning_args.py"},
		Key{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Source: args + "/finetuning_args.py"},
		Key{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0", Source: args + "/finetuning_args.py"},
		Key{Setting: "lora.targets", Path: "lora_target", Kind: Names, Default: "all", Source: args + "/finetuning_args.py"},
		Key{Setting: "lora.peft", Kind: Switch, Default: "true", Source: "llamafactory 0.9.5, model/adapter.py: get_peft_model, also with pure_bf16; " + upcast},
		Key{Setting: "weights", Kind: Word, Words: torchTypes, Default: "auto", Source: "llamafactory 0.9.5, model/loader.py; what is trained is cast to float32, model/adapter.py"},
		Key{Setting: "lora.dora", Path: "use_dora", Kind: Switch, Source: args + "/finetuning_args.py"},
		Key{Setting: "liger", Path: "enable_liger_kernel", Kind: Switch, Source: args + "/model_args.py; model/model_utils/liger_kernel.py"},
		Key{Setting: "uncounted", Path: "additional_target", Kind: Names, Source: args + "/finetuning_args.py"},
		factoryBits(args+"/model_args.py"),
		quantMethod("quantization_method", args+"/model_args.py"),
		Key{Setting: "quantization.type", Path: "quantization_type", Kind: Word, Words: quantTypes, Default: "nf4", Source: args + "/model_args.py; " + factoryBnb},
		Key{Setting: "quantization.double", Path: "double_quantization", Kind: Switch, Default: "true", Source: args + "/model_args.py"},
	)
}

// llamaFactoryUnsimulated returns the keys that are not counted. stage is sft by default, and pt needs the
// same memory.
func llamaFactoryUnsimulated(args string) []Key {
	tuning, model := args+"/finetuning_args.py", args+"/model_args.py"
	return []Key{
		objective("stage", tuning),
		{Setting: "reference", Path: "pref_loss", Kind: Word, Words: []Term{{"orpo", setup.ReferenceNone}, {"simpo", setup.ReferenceNone}, {"sigmoid", ""}, {"hinge", ""}, {"ipo", ""}, {"kto_pair", ""}}, Source: tuning},
		{Setting: "refused", Path: "ref_model", Kind: Present, Means: "compares answers with a separate reference model", Source: tuning},
		{Setting: "refused", Path: "ref_model_adapters", Kind: Present, Means: "compares answers with other adapters", Source: tuning},
		{Setting: "refused", Path: "ref_model_quantization_bit", Kind: Present, Means: "quantizes the reference model separately", Source: tuning},
		marked("finetuning_type", takesLess, tuning, Term{"freeze", fewLayers}),
		less("use_llama_pro", fewLayers, tuning),
		less("use_galore", lowRankStates, tuning),
		less("use_apollo", lowRankStates, tuning),
		less("use_badam", "trains one block of layers at a time", tuning),
		{Setting: "uncast", Path: "use_badam", Kind: Switch, Source: "llamafactory 0.9.5, model/adapter.py: init_adapter"},
		less("use_adam_mini", "keeps one state for many weights", tuning),
		either("use_muon", "keeps one state per matrix element, and its own buffers", tuning),
		either("use_unsloth", "replaces layers with its own kernels", model),
		less("use_unsloth_gc", offloadsActivations, model),
		either("fp8", "multiplies matrices in 8 bits", args+"/training_args.py"),
		either("use_dft_loss", ownLoss, tuning),
		either("use_eaft_loss", ownLoss, tuning),
		{Setting: "refused", Path: "use_asft_loss", Kind: Switch, Means: "also runs a frozen reference model", Source: tuning},
		{Setting: "refused", Path: "use_kt", Kind: Switch, Means: "runs experts on the CPU with KTransformers", Source: model},
		{Setting: "refused", Path: "mixture_of_depths", Kind: Present, Means: "skips layers for some tokens, with its own layers", Source: model},
		either("shift_attn", "shifts attention between groups of tokens", model),
		either("use_v1_kernels", "replaces layers with its own kernels", model),
		{Setting: "noted", Path: "pissa_init", Kind: Switch, Means: "prepares the adapters from the weights, which takes memory before the first step", Then: takesMore, Source: tuning},
		{Setting: "freeze.vision", Path: "freeze_vision_tower", Kind: Switch, Default: "true", Source: tuning + "; model/model_utils/visual.py"},
		{Setting: "freeze.projector", Path: "freeze_multi_modal_projector", Kind: Switch, Default: "true", Source: tuning},
		{Setting: "freeze.language", Path: "freeze_language_model", Kind: Switch, Default: "false", Source: tuning},
		{Setting: "image.pixels", Path: "image_resolution", Kind: Whole, Unit: "pixels", Source: "llamafactory 0.9.1, hparams/model_args.py; data/mm_plugin.py: _preprocess_image"},
		{Setting: "image.pixels", Path: "image_max_pixels", Kind: Whole, Unit: "pixels", Default: "589824", Source: model + "; data/mm_plugin.py: _preprocess_image"},
		{Setting: "image.tiles", Path: "crop_to_patches", Kind: Switch, Default: "false", Source: model + "; data/mm_plugin.py: InternVLPlugin"},
		{Setting: "noted", Path: "resize_vocab", Kind: Switch, Means: "adds tokens to the embeddings", Then: takesMore, Source: model},
		megatronKey("tensor_model_parallel_size"), megatronKey("pipeline_model_parallel_size"), megatronKey("expert_model_parallel_size"),
		megatronKey("use_distributed_optimizer"), megatronKey("recompute_granularity"),
		{Setting: "noted", Path: "upcast_layernorm", Kind: Switch, Means: "keeps norms in float32", Then: takesMore, Source: model},
	}
}

// megatronKey returns a key of Megatron-Core runs, which the variables USE_MCA and USE_MEGATRON_BRIDGE turn on.
func megatronKey(path string) Key {
	return Key{Setting: "refused", Path: path, Kind: Present, Means: trainsMegatron, Source: "llamafactory 0.9.5, hparams/parser.py and hparams/megatron_bridge_args.py"}
}

// factoryShell is the system of shell scripts that pass flags to LLaMA-Factory.
var factoryShell = shellOf(&llamaFactory, startsFactory)

// startsFactory matches LLaMA-Factory's command, the program that was run directly until 0.7, and its successor, which many
// projects have under the same path; its flags tell it apart.
var startsFactory = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(?:llamafactory-cli\s+train(?:\s|$)|src/train_bash\.py\b|src/train\.py\b(?:[^\n]*\\[ \t]*\n)*[^\n]*\s--finetuning_type\b)`,
	"llamafactory-cli", "src/train_bash.py", "src/train.py")
