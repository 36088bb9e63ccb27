// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const accelerateArgs = "accelerate 1.15, commands/config/config_args.py and commands/launch.py"

// accelerate is the file that "accelerate config" writes and "accelerate launch" reads.
var accelerate = System{
	Name: "accelerate", Title: "accelerate", Formats: []doc.Format{doc.YAML, doc.JSON}, Tied: true,
	Signs: []string{"compute_environment", "distributed_type num_processes", "distributed_type mixed_precision"},
	Keys:  keysOf(accelerateKeys),

	Finding:  Finding{Launcher: true},
	Sharding: Sharding{GathersInAutocast: true},
}

func accelerateKeys() []Key {
	return []Key{
		{Setting: "accumulation", Path: "deepspeed_config.gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Source: accelerateArgs},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Source: accelerateArgs},
		{Setting: "precision", Path: "mixed_precision", Kind: Word, Words: mixedPrecision, Source: accelerateArgs},
		{Setting: "checkpointing", Path: "fsdp_config.fsdp_activation_checkpointing", Kind: Switch, OfSharding: true, Source: accelerateArgs},
		{Setting: "dist.kind", Path: "deepspeed_config.zero_stage", Kind: Word, Words: zeroStages, Source: accelerateArgs},
		{Setting: "dist.kind", Path: "fsdp_config.fsdp_sharding_strategy", Kind: Word, Words: fsdp1Strategies, Source: accelerateArgs},
		{Setting: "dist.kind", Path: "fsdp_config.fsdp_reshard_after_forward", Kind: Word, Words: fsdp2Reshard, Source: accelerateArgs},
		{Setting: "dist.kind", Path: "distributed_type", Kind: Word, Words: accelerateTypes, Vague: true, Source: accelerateArgs},
		{Setting: "dist.version", Path: "fsdp_config.fsdp_version", Kind: Whole, Source: accelerateArgs},
		{Setting: "dist.world", Path: "num_processes", Kind: Whole, Unit: "GPUs", Source: accelerateArgs},
		{Setting: "link", Path: "deepspeed_config.deepspeed_config_file", Kind: Link, Source: accelerateArgs},
		offloads("deepspeed_config.offload_optimizer_device", offloadsStates, accelerateArgs),
		offloads("deepspeed_config.offload_param_device", offloadsWeights, accelerateArgs),
		less("fsdp_config.fsdp_offload_params", offloadsAll, accelerateArgs),
		compilesUnless("dynamo_config.dynamo_backend", accelerateArgs),
		splits("parallelism_config.parallelism_config_tp_size", accelerateArgs),
		shares("parallelism_config.parallelism_config_cp_size", accelerateArgs),
		shares("parallelism_config.parallelism_config_sp_size", accelerateArgs),
	}
}

// fsdp1Strategies are the strategies of FSDP's first version; the second has fsdp2Reshard.
var fsdp1Strategies = []Term{
	{"FULL_SHARD", "fsdp1"}, {"1", "fsdp1"}, {"SHARD_GRAD_OP", "fsdp2-noreshard"}, {"2", "fsdp2-noreshard"},
	{"NO_SHARD", "ddp"}, {"3", "ddp"},
}

var fsdp2Reshard = []Term{{"true", "fsdp2"}, {"false", "fsdp2-noreshard"}}

var accelerateTypes = []Term{{"NO", ""}, {"MULTI_GPU", "ddp"}, {"FSDP", "fsdp1"}, {"DEEPSPEED", "zero2"}}
