// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const nanotronArgs = "nanotron, config/config.py and config/parallelism_config.py"

// nanotron is nanotron's YAML, which contains the model's own config.
var nanotron = System{
	Name: "nanotron", Title: "nanotron", Formats: []doc.Format{doc.YAML},
	Signs: []string{"tokens.micro_batch_size parallelism"},
	Keys:  keysOf(nanotronKeys),
}

func nanotronKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model.model_config", Kind: Object, Source: nanotronArgs},
		{Setting: "batch", Path: "tokens.micro_batch_size", Kind: Whole, Unit: "samples per GPU", Source: nanotronArgs},
		{Setting: "accumulation", Path: "tokens.batch_accumulation_per_replica", Kind: Whole, Unit: "forward passes", Source: nanotronArgs},
		{Setting: "precision", Path: "model.dtype", Kind: Word, Words: weightTypes, Source: nanotronArgs},
		{Setting: "checkpointing", Path: "parallelism.recompute_layer", Kind: Switch, Default: "false", Source: nanotronArgs},
		{Setting: "seq", Path: "tokens.sequence_length", Kind: Whole, Unit: "tokens", Source: nanotronArgs},
		{Setting: "workers", Path: "data_stages.*.data.num_loading_workers", Kind: Whole, Unit: "processes per GPU", Source: nanotronArgs},
		{Setting: "optimizer", Path: "optimizer.optimizer_factory.name", Kind: Word, Words: []Term{{"adamW", "adamw"}, {"sgd", "sgd"}}, Reads: anyOptimizer,
			Beside: fusedSwitch("torch_adam_is_fused", nanotronArgs), Source: nanotronArgs},
		{Setting: "clip", Path: "optimizer.clip_grad", Kind: Above0, Source: nanotronArgs},
		{Setting: "dist.kind", Path: "optimizer.zero_stage", Kind: Word, Words: nanotronStages, Source: nanotronArgs},
		{Setting: "dist.world", Path: "parallelism.dp", Kind: Whole, Unit: "replicas", Source: nanotronArgs},
		{Setting: "refused", Path: "optimizer.accumulate_grad_in_fp32", Kind: Switch, Means: "keeps copies of weights and gradients in float32", Source: "nanotron, helpers.py: init_optimizer_and_grad_accumulator"},
		notLlama("is_qwen2_config"), notLlama("is_starcoder2_config"), notLlama("is_mamba_config"), notLlama("is_llamoe_config"),
		{Setting: "refused", Path: "model.model_config.moe_config", Kind: Present, Means: "describes a model with experts", Source: "nanotron, config/models_config.py"},
		{Setting: "noted", Path: "model.model_config.is_llama_config", Kind: Switch, Means: "uses nanotron's own layers, which differ from transformers'", Then: takesEither, Source: "nanotron, models/llama.py"},
		splits("parallelism.tp", nanotronArgs),
		splits("parallelism.pp", nanotronArgs),
		splits("parallelism.expert_parallel_size", nanotronArgs),
		shares("parallelism.context_parallel_size", nanotronArgs),
	}
}

// nanotronStages are the stages of nanotron's own ZeRO, which partitions only the optimizer.
var nanotronStages = []Term{{"0", "ddp"}, {"1", "zero1"}}

// notLlama returns the key of a config that describes a model other than Llama.
func notLlama(name string) Key {
	return Key{Setting: "refused", Path: "model.model_config." + name, Kind: Switch, Means: "describes a model that is not Llama", Source: "nanotron, config/models_config.py"}
}
