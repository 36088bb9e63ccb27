// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
)

const launchers = "torchrun, accelerate launch and deepspeed --help"

// shell is the system of scripts that contain flags: those of TrainingArguments, Megatron, ms-swift and the
// launchers, and a training script's own names, as in plain files. Dashes and underscores are equivalent;
// key=value arguments are matched by the last part of the key.
var shell = System{
	Name: "shell", Title: "a shell script with flags", Formats: []doc.Format{doc.Shell}, ByName: true,
	Keys: keysOf(shellKeys),

	Finding: Finding{OwnProgram: true, AlsoDistinctive: []string{"dist.world", "link"}, Commands: &shellCommands},
}

func shellKeys() []Key {
	megatron := "Megatron-LM, megatron/training/arguments.py"
	swift := "ms-swift, command line parameters"
	out := []Key{
		{Setting: "batch", Path: "**." + TrainerBatch, Kind: Whole, Unit: "samples per GPU", Source: hfArgs},
		{Setting: "effective", Path: "**.global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: megatron},
		{Setting: "precision", Path: "**.torch_dtype", Kind: Word, Words: weightTypes, Source: swift},
		{Setting: "precision", Path: "**.mixed_precision", Kind: Word, Words: mixedPrecision, OfLauncher: true, Source: launchers},
		{Setting: "precision", Path: "**.no_mixed_precision", Kind: Switch, Means: "fp32", Source: byConvention},
		{Setting: "weights", Path: "**.dtype", Kind: Word, Words: torchTypes, Source: modelArguments},
		{Setting: "weights", Path: "**.torch_dtype", Kind: Word, Words: torchTypes, Source: modelArguments},
		{Setting: "autocast", Path: "**.bf16", Kind: Switch, Means: "amp-bf16", Source: hfArgs},
		{Setting: "autocast", Path: "**.fp16", Kind: Switch, Means: "amp-fp16", Source: hfArgs},
		{Setting: "checkpointing", Path: "**.recompute_activations", Kind: Switch, Source: megatron},
		{Setting: "use_reentrant", Path: "**.use_reentrant", Kind: Switch, Source: hfArgs}, // in gradient_checkpointing_kwargs, or a flag
		{Setting: "attention", Path: "**.attn_impl", Kind: Word, Source: swift,
			Words: []Term{{"sdpa", "sdpa"}, {"eager", "eager"}, {"flash_attn", "flash"}, {"flash_attention_2", "flash"}}},
		{Setting: "optimizer", Path: "**.optim", Kind: Word, Words: hfOptimizers, Source: hfArgs},
		{Setting: "model", Path: "**.model", Kind: Name, Source: swift},
		{Setting: "model", Path: "**.config_name", Kind: Name, Source: modelArguments}, // for a model trained from scratch
		{Setting: "lora", Path: "**.use_peft", Kind: Switch, Source: trlModel},
		{Setting: "lora.targets", Path: "**.target_modules", Kind: Names, Source: swift},
		{Setting: "dist.kind", Path: "**.fsdp", Kind: Word, Words: hfFSDP, Source: hfArgs},
		{Setting: "link", Path: "**.fsdp_config", Kind: Link, Source: hfArgs},
		{Setting: "seq", Path: "**.max_source_length", Kind: Whole, Unit: "tokens", Source: "transformers' examples: run_summarization.py"},
		{Setting: "target_seq", Path: "**.max_target_length", Kind: Whole, Unit: "tokens", Source: "transformers' examples: run_summarization.py"},
		{Setting: "eval.batch", Path: "**.per_device_eval_batch_size", Kind: Whole, Unit: "samples per GPU", Source: hfArgs},
		{Setting: "eval.when", Path: "**.eval_strategy", Kind: Word, Words: evalTimes, Source: hfArgs},
		{Setting: "eval.when", Path: "**.evaluation_strategy", Kind: Word, Words: evalTimes, Source: hfArgs + " (until 4.46)"},
		{Setting: "eval.when", Path: "**.do_eval", Kind: Switch, Means: "end", Source: "transformers' examples: run_clm.py evaluates after training"},
		{Setting: "link", Path: "**.config", Kind: Link, Source: byConvention},
		{Setting: "link", Path: "**.c", Kind: Link, Endings: []string{".yaml", ".yml", ".json", ".toml"}, Source: byConvention}, // otherwise a command: bash -c
		{Setting: "link", Path: "**.config_path", Kind: Link, Source: byConvention},
		{Setting: "link", Path: "**.dataset_config", Kind: Link, Endings: []string{".toml", ".json"}, Source: kohyaArgs}, // otherwise a part of a dataset: ro-en,
	}
	out = slices.Concat(out, launcherKeys(), at("**.", shellUnsimulated(megatron, swift)...))
	return append(out, slices.DeleteFunc(plainKeys(), func(k Key) bool { return k.Path == "**._attn_implementation" })...) // an argument in code only
}

// launcherKeys returns the flags and variables of launchers, which take precedence over any program's.
func launcherKeys() []Key {
	out := []Key{
		{Setting: "dist.world", Path: "**.nproc_per_node", Kind: Whole, Unit: "GPUs", Source: launchers},
		{Setting: "dist.world", Path: "**.num_processes", Kind: Whole, Unit: "GPUs", Source: launchers},
		{Setting: "dist.world", Path: "**.include", Kind: Slots, Unit: "GPUs", Source: "deepspeed 0.19, launcher/runner.py: parse_inclusion_exclusion"},
		{Setting: "nodes", Path: "**.nnodes", Kind: Whole, Unit: "machines", Source: launchers},
		{Setting: "dist.kind", Path: "**.zero_stage", Kind: Word, Words: zeroStages, Source: launchers},
		{Setting: "dist.kind", Path: "**.fsdp_sharding_strategy", Kind: Word, Words: fsdp1Strategies, OfLauncher: true, Source: launchers},
		{Setting: "dist.kind", Path: "**.fsdp_reshard_after_forward", Kind: Word, Words: fsdp2Reshard, OfLauncher: true, Source: launchers},
		{Setting: "dist.version", Path: "**.fsdp_version", Kind: Whole, Source: launchers},
		{Setting: "dist.kind", Path: "**.use_deepspeed", Kind: Switch, Means: "zero2", Vague: true, Source: accelerateArgs},
		{Setting: "dist.kind", Path: "**.use_fsdp", Kind: Switch, Means: "fsdp1", Vague: true, OfLauncher: true, Source: accelerateArgs},
		{Setting: "allocator", Path: "**.pytorch_alloc_conf", Kind: Name, Source: "PyTorch 2.11, c10/core/AllocatorConfig.h"},
		{Setting: "allocator", Path: "**.pytorch_cuda_alloc_conf", Kind: Name, Source: "PyTorch 2.11, c10/core/AllocatorConfig.h (deprecated)"},
		{Setting: "link", Path: "**.config_file", Kind: Link, Source: launchers},
		{Setting: "link", Path: "**.deepspeed_config_file", Kind: Link, Source: launchers},
	}
	return append(out, at("**.",
		offloads("offload_optimizer_device", offloadsStates, accelerateArgs),
		offloads("offload_param_device", offloadsWeights, accelerateArgs),
		less("fsdp_offload_params", offloadsAll, accelerateArgs),
		compilesUnless("dynamo_backend", accelerateArgs),
		splits("parallelism_config_tp_size", accelerateArgs),
		shares("parallelism_config_cp_size", accelerateArgs),
	)...)
}

// shellUnsimulated returns the flags that are not counted.
func shellUnsimulated(megatron, swift string) []Key {
	return []Key{
		stageOfAny("stage", llamaFactoryArgs+"/finetuning_args.py"),
		objective("rlhf_type", swift),
		{Setting: "noted", Path: "fsdp", Kind: Word, Words: hfOffload, Then: takesLess, Source: hfArgs},
		marked("deepspeed", takesLess, swift, Term{"zero2_offload", offloadsStates}, Term{"zero3_offload", "keeps weights and optimizer states in CPU memory"}),
		marked("strategy", takesLess, lightningTrainer, offloadingStrategies...),
		marked("finetuning_type", takesLess, llamaFactoryArgs, Term{"freeze", fewLayers}),
		less("optimizer_cpu_offload", offloadsStates, megatron),
		less("activation_offloading", offloadsActivations, trlSFT),
		refusedWith("train_group_size", "compares each query with a group of texts", "FlagEmbedding, abc/finetune/embedder/AbsArguments.py; tevatron, retriever/arguments.py"),
		less("use_galore", lowRankStates, llamaFactoryArgs),
		less("use_apollo", lowRankStates, llamaFactoryArgs),
		less("use_badam", "trains one block of layers at a time", llamaFactoryArgs),
		either("use_unsloth", "replaces layers with its own kernels", llamaFactoryArgs),
		either("torch_compile", compiles, hfArgs),
		less("adafactor", "replaces the optimizer with Adafactor, which keeps less", hfArgs+" (until 4)"),
		paged("optim", hfArgs),
		splits("tensor_model_parallel_size", megatron),
		splits("pipeline_model_parallel_size", megatron),
		splits("expert_model_parallel_size", megatron),
		shares("context_parallel_size", megatron),
		factoryBits(llamaFactoryArgs),
		swiftBits(swiftQuant),
		quantMethod("quant_method", swiftQuant),
		quantMethod("quantization_method", llamaFactoryArgs),
		{Setting: "quantization.double", Path: "use_bnb_nested_quant", Kind: Switch, Source: trlModel},
		{Setting: "quantization.double", Path: "double_quantization", Kind: Switch, Source: llamaFactoryArgs},
		{Setting: "quantization.type", Path: "quantization_type", Kind: Word, Words: quantTypes, Source: llamaFactoryArgs},
	}
}

// Shell returns the system of scripts with flags.
func Shell() *System { return &shell }
