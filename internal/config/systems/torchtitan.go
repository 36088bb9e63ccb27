// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const (
	torchtitanJob = "torchtitan 0.2, config/job_config.py"
	titan2024     = "torchtitan in 2024, config_manager.py"
)

// torchtitan is torchtitan's TOML, in use until 0.2; later versions are configured in Python.
var torchtitan = System{
	Name: "torchtitan", Title: "torchtitan (TOML, up to 0.2)", Formats: []doc.Format{doc.TOML},
	Signs: []string{"training.local_batch_size", "training.batch_size model.flavor", "training.seq_len parallelism", "training.seq_len job"},
	Keys:  keysOf(torchtitanKeys),

	Finding: Finding{MakesSections: true},
	// 0.1 to 0.2, distributed/utils.py: maybe_enable_amp.
	Loading:  Loading{AutocastsUnsharded: true, Families: &titanFamilies},
	Sharding: Sharding{Shards: true},
}

// titanFamilies are the families with the sizes of published models (torchtitan 0.2.2, models/llama3/__init__.py;
// llama2 until 2024). Its 405B is Llama 3.1's. Other names are the family and the size: "qwen3 8B".
var titanFamilies = Families{
	Path:  "model.name",
	Names: []Term{{"llama2", "llama-2-"}, {"llama3", "llama-3-"}},
	Sizes: []Term{{"llama-3-405b", "meta-llama/Llama-3.1-405B"}},
}

func torchtitanKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model.flavor", Kind: Name, Source: torchtitanJob},
		{Setting: "batch", Path: "training.local_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "8", Source: torchtitanJob},
		{Setting: "batch", Path: "training.batch_size", Kind: Whole, Unit: "samples per GPU", Source: "torchtitan until mid 2025, train_configs"},
		{Setting: "effective", Path: "training.global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "-1", Source: torchtitanJob},
		{Setting: "precision", Path: "training.dtype", Kind: Word, Words: weightTypes, Default: "float32", Source: torchtitanJob},
		{Setting: "dist.param_dtype", Path: "training.mixed_precision_param", Kind: Word,
			Words: []Term{{"bfloat16", "bf16"}, {"float32", "fp32"}}, Default: "bfloat16", Source: torchtitanJob},
		{Setting: "checkpointing", Path: "activation_checkpoint.mode", Kind: Word, Default: "selective",
			Words: []Term{{"full", "true"}, {"none", "false"}, {"selective", "false"}}, Source: torchtitanJob}, // with a note
		{Setting: "seq", Path: "training.seq_len", Kind: Whole, Unit: "tokens", Default: "2048", Source: torchtitanJob},
		{Setting: "optimizer", Path: "optimizer.name", Kind: Word, Default: "AdamW",
			Words: []Term{{"AdamW", "adamw"}, {"Adam", "adam"}}, Beside: &titanKernel, Source: torchtitanJob},
		{Setting: "clip", Path: "training.max_norm", Kind: Above0, Default: "1.0", Source: torchtitanJob},
		{Setting: "dist.world", Path: "parallelism.data_parallel_shard_degree", Kind: Whole, Unit: "GPUs", Source: torchtitanJob},
		{Setting: "dist.world", Path: "training.data_parallel_shard_degree", Kind: Whole, Unit: "GPUs", Source: titan2024},
		{Setting: "dist.world", Path: "training.data_parallel_degree", Kind: Whole, Unit: "GPUs", Source: titan2024},
		splits("training.tensor_parallel_degree", titan2024),
		splits("training.pipeline_parallel_degree", titan2024),
		splits("experimental.pipeline_parallel_degree", titan2024),
		shares("experimental.context_parallel_degree", titan2024),
		either("float8.enable_float8_linear", "multiplies matrices in 8 bits", titan2024),
		{Setting: "noted", Path: "model.converters", Kind: Present, Means: "replaces layers", Then: takesEither, Source: torchtitanJob},
		{Setting: "noted", Path: "parallelism.data_parallel_replicate_degree", Kind: Above1, Means: "reduces gradients across replicas of the shards", Then: takesMore, Source: torchtitanJob},
		{Setting: "noted", Path: "model.flavor", Kind: Present, Means: "selects torchtitan's own layers, which differ from transformers'", Then: takesEither, Source: "torchtitan 0.2, models/llama3/model"},
		splits("parallelism.tensor_parallel_degree", torchtitanJob),
		splits("parallelism.pipeline_parallel_degree", torchtitanJob),
		splits("parallelism.expert_parallel_degree", torchtitanJob),
		shares("parallelism.context_parallel_degree", torchtitanJob),
		{Setting: "noted", Path: "activation_checkpoint.mode", Kind: Word, Default: "selective", Then: takesEither, Source: torchtitanJob,
			Words: []Term{{"selective", "keeps some results of each layer and recomputes the others"}}},
		less("training.enable_cpu_offload", offloadsAll, torchtitanJob),
		either("compile.enable", compiles, torchtitanJob),
		either("training.compile", compiles, torchtitanJob+" (until mid 2025)"),
	}
}
