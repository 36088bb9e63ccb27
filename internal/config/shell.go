// SPDX-License-Identifier: Apache-2.0

package config

import "snug/internal/config/doc"

const launchers = "torchrun, accelerate launch and deepspeed --help"

// shell is scripts that hold flags: those of TrainingArguments, of Megatron and
// ms-swift, of the launchers, and whatever a training script calls the things
// that plain knows. Dashes and underscores are the same; key=value arguments
// count by their last part.
var shell = Adapter{
	Name: "shell", Title: "a shell script with flags", Formats: []doc.Format{doc.Shell},
	Keys: shellKeys(),
}

func shellKeys() []Key {
	megatron := "Megatron-LM, megatron/training/arguments.py"
	swift := "ms-swift, command line parameters"
	out := []Key{
		{Setting: "batch", Path: "**." + trainerBatch, Kind: Whole, Unit: "samples per GPU", Source: hfArgs},
		{Setting: "effective", Path: "**.global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: megatron},
		{Setting: "precision", Path: "**.torch_dtype", Kind: Word, Words: weightTypes, Source: swift},
		{Setting: "precision", Path: "**.mixed_precision", Kind: Word, Words: mixedPrecision, Source: launchers},
		{Setting: "precision", Path: "**.no_mixed_precision", Kind: Switch, Means: "fp32", Source: byCustom},
		{Setting: "weights", Path: "**.dtype", Kind: Word, Words: torchTypes, Source: modelArguments},
		{Setting: "weights", Path: "**.torch_dtype", Kind: Word, Words: torchTypes, Source: modelArguments},
		{Setting: "autocast", Path: "**.bf16", Kind: Switch, Means: "amp-bf16", Source: hfArgs},
		{Setting: "autocast", Path: "**.fp16", Kind: Switch, Means: "amp-fp16", Source: hfArgs},
		{Setting: "checkpointing", Path: "**.recompute_activations", Kind: Switch, Source: megatron},
		{Setting: "attention", Path: "**.attn_impl", Kind: Word, Source: swift,
			Words: []word{{"sdpa", "sdpa"}, {"eager", "eager"}, {"flash_attn", "flash"}, {"flash_attention_2", "flash"}}},
		{Setting: "optimizer", Path: "**.optim", Kind: Word, Words: hfOptimizers, Source: hfArgs},
		{Setting: "model", Path: "**.model", Kind: Name, Source: swift},
		{Setting: "lora.targets", Path: "**.target_modules", Kind: Names, Source: swift},
		{Setting: "dist.world", Path: "**.nproc_per_node", Kind: Whole, Unit: "GPUs", Source: launchers},
		{Setting: "dist.world", Path: "**.num_processes", Kind: Whole, Unit: "GPUs", Source: launchers},
		{Setting: "nodes", Path: "**.nnodes", Kind: Whole, Unit: "machines", Source: launchers},
		{Setting: "link", Path: "**.config_file", Kind: Link, Source: launchers},
		{Setting: "link", Path: "**.config", Kind: Link, Source: byCustom},
		{Setting: "link", Path: "**.config_path", Kind: Link, Source: byCustom},
		{Setting: "link", Path: "**.dataset_config", Kind: Link, Source: kohyaArgs},
	}
	return append(out, plainKeys()...)
}
