// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
	"snug/internal/pattern"
	"snug/internal/setup"
)

const (
	swiftTrain = "ms-swift 4.6, trainers/arguments.py"
	swiftTuner = "ms-swift 4.6, arguments/tuner_args.py and pipelines/train/tuner.py"
	swiftBase  = "ms-swift 4.6, arguments/base_args/base_args.py"
	swiftModel = "ms-swift 4.6, arguments/base_args/model_args.py"
	swiftSFT   = "ms-swift 4.6, arguments/sft_args.py"
	swift2     = " (ms-swift 2)"
	swift3     = " (ms-swift 3)"
)

// swift is ms-swift's YAML and JSON, whose keys are the flags of swift sft: TrainingArguments with other defaults. It
// loads weights in the type in config.json, and autocast uses the same type.
var swift = System{
	Name: "ms-swift", Title: "ms-swift", Formats: []doc.Format{doc.YAML, doc.JSON},
	Signs: []string{
		"model tuner_type", "model train_type", "model sft_type", "model rlhf_type", "model_type sft_type", "model_id_or_path sft_type",
		"model split_dataset_ratio", "model load_from_cache_file dataset",
	},
	Keys: keysOf(swiftKeys),

	Behavior: Behavior{CeilsAccumulation: true, LengthOfModel: true}, // 4.6, base_args.py: max_length is max_model_len
	Loading: Loading{
		Loop: "trainer", LoadsTyped: true, AutocastsAsLoaded: true,
		Reentrant: &Reentrance{Answers: true, Except: setup.DDP}, // 4.6, trainers/mixin.py: _fix_gradient_checkpointing
	},
	Sharding: Sharding{GathersInAutocast: true, SplitsVisible: true},
}

// swiftShell is the system of shell scripts that start ms-swift.
var swiftShell = shellOf(&swift, startsSwift)

// startsSwift matches swift's command and the program that it runs.
var startsSwift = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(?:swift\s+(?:sft|pt|rlhf)(?:\s|$)|swift/cli/(?:sft|pt|rlhf)\.py\b|swift\.cli\.(?:sft|pt|rlhf)\b)`, "swift")

func swiftKeys() []Key {
	keys := []Key{
		{Setting: "model", Path: "model", Kind: Name, Source: swiftModel},
		{Setting: "model", Path: "model_id_or_path", Kind: Name, Source: swiftModel + swift2},
		{Setting: "batch", Path: TrainerBatch, Kind: Whole, Unit: "samples per GPU", Default: "1", Source: swiftTrain},
		{Setting: "batch", Path: "batch_size", Kind: Whole, Unit: "samples per GPU", Source: swiftTrain + swift2},
		{Setting: "effective", Kind: Whole, OverGPUs: true, Default: "16", Source: swiftTrain + ": __post_init__, without gradient_accumulation_steps"},
		{Setting: "seq", Path: "packing_length", Kind: Whole, Unit: "tokens", Source: swiftBase},
		{Setting: "seq", Path: "max_length", Kind: Whole, Unit: "tokens", Source: swiftBase + "; otherwise the model's maximum"},
		{Setting: "weights", Path: "torch_dtype", Kind: Word, Words: torchTypes, Default: "auto", Source: swiftModel},
		{Setting: "weights", Path: "dtype", Kind: Word, Words: swiftTypes, Source: swiftModel + swift2},
		{Setting: "attention", Path: "attn_impl", Kind: Word, Words: swiftAttention, Source: swiftModel},
		{Setting: "attention", Path: "use_flash_attn", Kind: Switch, Means: "flash", Source: swiftModel + swift2},
		{Setting: "dist.world", Path: "ENV.NPROC_PER_NODE", Kind: Whole, Unit: "GPUs", Source: "ms-swift 4.6, cli/main.py: parse_yaml_args"},
		{Setting: "eval.batch", Path: "per_device_eval_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: swiftTrain},
		{Setting: "eval.when", Path: "eval_strategy", Kind: Word, Words: evalTimes, Source: swiftSFT},
		{Setting: "eval.when", Path: "split_dataset_ratio", Kind: Above0, Source: swiftSFT},
		{Setting: "noted", Path: "neftune_noise_alpha", Kind: Above0, Means: "adds noise to the embeddings", Then: takesEither, Source: swiftTrain},
	}
	for _, k := range hfKeys() {
		switch k.Path {
		case "bf16", "fp16":
			k.Default = ""
			keys = append(keys, k, k.decidingAutocast())
		case "gradient_checkpointing":
			k.Default, k.Source = "true", swiftTrain
			keys = append(keys, k)
		case "gradient_accumulation_steps":
			k.Default = ""
			keys = append(keys, k)
		case "deepspeed":
			k.Presets, k.Source = swiftStages, swiftSFT+": _init_deepspeed, and config"
			keys = append(keys, k)
		case "fsdp":
			if k.Setting == "dist.kind" {
				k.Reads, k.Source = []Term{{"fsdp2", "fsdp2"}}, swiftSFT+": _init_fsdp, and config/fsdp2.json"
				keys = append(keys, k)
			}
		case hfModel, TrainerBatch, "attn_implementation", "per_device_eval_batch_size", "eval_strategy", "evaluation_strategy":
		default:
			keys = append(keys, k)
		}
	}
	return slices.Concat(keys, swiftTuners(), swiftUnsimulated())
}

// swiftTuners returns the keys of adapters and of quantized weights.
func swiftTuners() []Key {
	tuners := []Term{{"lora", "true"}, {"full", "false"}}
	return []Key{
		{Setting: "lora", Path: "tuner_type", Kind: Word, Words: tuners, Default: "lora", Source: swiftBase},
		{Setting: "lora", Path: "train_type", Kind: Word, Words: tuners, Source: swiftBase + swift3},
		{Setting: "lora", Path: "sft_type", Kind: Word, Words: tuners, Source: swiftBase + swift2},
		{Setting: "lora.rank", Path: "lora_rank", Kind: Whole, Default: "8", Source: swiftTuner},
		{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "32", Source: swiftTuner},
		{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.05", Source: swiftTuner},
		{Setting: "lora.dropout", Path: "lora_dropout_p", Kind: Number, Source: swiftTuner + swift2},
		{Setting: "lora.targets", Path: "target_modules", Kind: Names, Default: "all-linear", Source: swiftTuner},
		{Setting: "lora.targets", Path: "lora_target_modules", Kind: Names, Source: swiftTuner + swift2},
		{Setting: "lora.peft", Path: "lora_dtype", Kind: Word, Default: "float32", Words: []Term{{"float32", "true"}, {"bfloat16", "false"}, {"float16", "false"}, {"auto", "true"}},
			Source: "ms-swift 4.6, tuners/peft.py: _cast_adapter_dtype_hook; " + upcast},
		{Setting: "lora.dora", Path: "use_dora", Kind: Switch, Source: swiftTuner},
		{Setting: "lora.save", Path: "modules_to_save", Kind: Names, Source: swiftTuner},
		{Setting: "freeze.vision", Path: "freeze_vit", Kind: Switch, Default: "true", Source: swiftTuner},
		{Setting: "freeze.projector", Path: "freeze_aligner", Kind: Switch, Default: "true", Source: swiftTuner},
		{Setting: "freeze.language", Path: "freeze_llm", Kind: Switch, Default: "false", Source: swiftTuner},
		{Setting: "image.pixels", Path: "max_pixels", Kind: Whole, Unit: "pixels", Source: "ms-swift 4.6, arguments/base_args/template_args.py; the variable MAX_PIXELS of qwen_vl_utils"},
		{Setting: "image.pixels", Path: "ENV.MAX_PIXELS", Kind: Whole, Unit: "pixels", Source: "ms-swift 4.6, cli/main.py: parse_yaml_args"},
		{Setting: "uncounted", Path: "target_regex", Kind: Name, Source: swiftTuner},
		{Setting: "uncounted", Path: "target_parameters", Kind: Names, Source: swiftTuner},
		{Setting: "uncounted", Path: "lora_bias", Kind: Word, Words: []Term{{"none", ""}, {"all", "trained biases"}}, Source: swiftTuner},
		swiftBits(swiftQuant),
		quantMethod("quant_method", swiftQuant),
		{Setting: "quantization.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Default: "nf4", Source: swiftQuant},
		{Setting: "quantization.double", Path: "bnb_4bit_use_double_quant", Kind: Switch, Default: "true", Source: swiftQuant},
		{Setting: "quantization.compute", Path: "bnb_4bit_compute_dtype", Kind: Word, Words: computeTypes, Source: swiftQuant},
	}
}

// swiftUnsimulated returns the keys that are not counted.
func swiftUnsimulated() []Key {
	loss := "ms-swift 4.6, trainers/seq2seq_trainer.py: compute_loss"
	megatron := "ms-swift 4.6, megatron/arguments"
	kept := less("use_logits_to_keep", "computes logits only for tokens with labels", "ms-swift 4.6, trainers/mixin.py: get_use_logits_to_keep")
	kept.Default = "true"
	return []Key{
		objective("rlhf_type", "ms-swift 4.6, arguments/rlhf_args.py"),
		{Setting: "refused", Path: "loss_type", Kind: Present, Means: "replaces the model's own loss", Source: "ms-swift 4.6, loss/mapping.py"},
		{Setting: "refused", Path: "micro_batch_size", Kind: Present, Means: trainsMegatron, Source: megatron},
		{Setting: "refused", Path: "tensor_model_parallel_size", Kind: Present, Means: trainsMegatron, Source: megatron},
		kept,
		either("enable_dft_loss", ownLoss, loss),
		either("enable_channel_loss", ownLoss, loss),
		{Setting: "noted", Path: "loss_scale", Kind: Word, Words: []Term{{"default", ""}, {"last_round", ""}, {"all", ""}, {"", ""}}, Means: ownLoss, Then: takesEither, Source: loss},
		{Setting: "noted", Path: "tuner_backend", Kind: Word, Words: []Term{{"peft", ""}, {"", ""}}, Means: "replaces layers with its own kernels", Then: takesEither, Source: swiftBase},
		{Setting: "noted", Path: "optimizer", Kind: Present, Means: "replaces the optimizer", Then: takesEither, Source: "ms-swift 4.6, optimizers/mapping.py"},
		less("use_galore", lowRankStates, swiftTrain),
		{Setting: "noted", Path: "lisa_activated_layers", Kind: Above0, Means: fewLayers, Then: takesLess, Source: swiftTrain},
		{Setting: "noted", Path: "freeze_parameters", Kind: Present, Means: fewLayers, Then: takesLess, Source: swiftTuner},
		{Setting: "noted", Path: "freeze_parameters_regex", Kind: Present, Means: fewLayers, Then: takesLess, Source: swiftTuner},
		{Setting: "noted", Path: "freeze_parameters_ratio", Kind: Above0, Means: fewLayers, Then: takesLess, Source: swiftTuner},
		{Setting: "noted", Path: "init_weights", Kind: Word, Words: []Term{{"true", ""}, {"false", ""}, {"gaussian", ""}}, Means: "prepares the adapters from the weights, which takes memory before the first step", Then: takesMore, Source: swiftTuner},
		splits("deepspeed_autotp_size", swiftSFT),
		shares("sequence_parallel_size", "ms-swift 4.6, arguments/base_args/template_args.py"),
		marked("deepspeed", takesLess, swiftSFT, Term{"zero2_offload", offloadsStates}, Term{"zero3_offload", offloadsBoth}),
	}
}

const (
	offloadsBoth   = "keeps weights and optimizer states in CPU memory"
	ownLoss        = "computes the loss of each token with the trainer's own code"
	trainsMegatron = "belongs to a Megatron-Core run, which has its own layers"
)

// swiftAttention are the values of attn_impl.
var swiftAttention = append(hfAttention[:len(hfAttention):len(hfAttention)], Term{"flash_attn", "flash"}, Term{"flash_attention_4", "flash"})

// swiftTypes are the dtype values of ms-swift 2.
var swiftTypes = []Term{{"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}, {"AUTO", "saved"}}

// swiftStages are the DeepSpeed configs that ms-swift ships.
var swiftStages = []Term{
	{"zero0", "ddp"}, {"zero1", "zero1-deepspeed"}, {"zero2", "zero2"}, {"zero3", "zero3"}, {"zero2_offload", "zero2"}, {"zero3_offload", "zero3"},
}
