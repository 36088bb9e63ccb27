// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const kohyaArgs = "kohya-ss/sd-scripts, library/train_util.py and docs/config_README-en.md"

// kohya is the TOML of kohya's sd-scripts: --config_file with the arguments, with or without sections, and
// --dataset_config with a batch per dataset, which takes precedence over the arguments.
var kohya = System{
	Name: "kohya", Title: "kohya sd-scripts", Formats: []doc.Format{doc.TOML},
	Signs: []string{
		"**.train_batch_size", "**.network_module", "datasets.*.batch_size", "general.batch_size datasets",
		"**.max_data_loader_n_workers", "**.optimizer_type",
	},
	Keys: keysOf(kohyaKeys),
}

func kohyaKeys() []Key {
	return []Key{
		{Setting: "model", Path: "**.pretrained_model_name_or_path", Kind: Name, Source: kohyaArgs},
		{Setting: "batch", Path: "datasets.*.batch_size", Kind: Whole, Unit: "samples per GPU", Source: kohyaArgs},
		{Setting: "batch", Path: "general.batch_size", Kind: Whole, Unit: "samples per GPU", Source: kohyaArgs},
		{Setting: "batch", Path: "**.train_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: kohyaArgs},
		{Setting: "accumulation", Path: "**.gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: kohyaArgs},
		{Setting: "precision", Path: "**.full_bf16", Kind: Switch, Means: "bf16", Source: kohyaArgs},
		{Setting: "precision", Path: "**.full_fp16", Kind: Switch, Means: "fp16", Source: kohyaArgs},
		{Setting: "precision", Path: "**.mixed_precision", Kind: Word, Words: mixedPrecision, Default: "no", Source: kohyaArgs},
		{Setting: "checkpointing", Path: "**.gradient_checkpointing", Kind: Switch, Default: "false", Source: kohyaArgs},
		{Setting: "workers", Path: "**.max_data_loader_n_workers", Kind: Whole, Unit: "processes per GPU", Default: "8", Source: kohyaArgs},
		{Setting: "optimizer", Path: "**.optimizer_type", Kind: Word, Words: kohyaOptimizers, Reads: anyOptimizer, Default: "AdamW", Source: kohyaArgs},
		{Setting: "attention", Path: "**.sdpa", Kind: Switch, Means: "sdpa", Source: kohyaArgs},
		{Setting: "clip", Path: "**.max_grad_norm", Kind: Above0, Default: "1.0", Source: kohyaArgs},
		{Setting: "lora.rank", Path: "**.network_dim", Kind: Whole, Source: kohyaArgs},
		{Setting: "lora.alpha", Path: "**.network_alpha", Kind: Number, Source: kohyaArgs},
	}
}
