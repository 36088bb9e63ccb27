// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

const (
	litgptLoRA  = "litgpt 0.5.13, finetune/lora.py: setup"
	litgptTrain = "litgpt 0.5.13, args.py: TrainArgs"
)

// litgpt is the YAML of LitGPT's finetuning, full or with its own LoRA. It has no key for a strategy: one GPU uses
// none, and several use FSDP with checkpointing.
var litgpt = System{
	Name: "litgpt", Title: "LitGPT", Formats: []doc.Format{doc.YAML},
	Signs: []string{"checkpoint_dir train.micro_batch_size", "checkpoint_dir train.global_batch_size", "checkpoint_dir lora_r precision"},
	Keys:  keysOf(litgptKeys),

	Behavior: Behavior{NamesTargets: true},
	Loading: Loading{
		Loop: "litgpt", LoopOverGPUs: true, Checkpoints: "checkpoints/",
		QuantizesItself: "quantizes weights with Fabric's code, which is not simulated",
	},
	// finetune/lora.py: ModelParallelStrategy and parallelize_fn; finetune/full.py: FSDPStrategy.
	Sharding: Sharding{Shards: true, ShardsAs: "fsdp1", AdaptersAs: "fsdp2", CheckpointsSharded: true},
}

// litgptPretrain is the YAML of litgpt pretrain, which compiles the model.
var litgptPretrain = System{
	Name: "litgpt-pretrain", Title: "LitGPT's pretraining", Formats: []doc.Format{doc.YAML},
	Signs: []string{"model_name train.micro_batch_size train.global_batch_size", "model_config train.micro_batch_size train.global_batch_size"},
	Keys:  keysOf(litgptPretrainKeys),

	Sharding: Sharding{Shards: true, ShardsAs: "fsdp1"}, // pretrain.py: FSDPStrategy
}

func litgptKeys() []Key {
	return slices.Concat([]Key{
		{Setting: "model", Path: "checkpoint_dir", Kind: Name, Source: litgptLoRA},
		{Setting: "batch", Path: "train.micro_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: litgptLoRA},
		{Setting: "effective", Path: "train.global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "16", Source: litgptLoRA},
		{Setting: "dist.world", Path: "devices", Kind: Whole, Unit: "GPUs", Default: "1", Source: litgptLoRA},
		{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Source: litgptLoRA},
		{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "16", Source: litgptLoRA},
		{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.05", Source: litgptLoRA},
		{Setting: "lora.query", Path: "lora_query", Kind: Switch, Default: "true", Source: litgptLoRA},
		{Setting: "lora.key", Path: "lora_key", Kind: Switch, Default: "false", Source: litgptLoRA},
		{Setting: "lora.value", Path: "lora_value", Kind: Switch, Default: "true", Source: litgptLoRA},
		{Setting: "lora.projection", Path: "lora_projection", Kind: Switch, Default: "false", Source: litgptLoRA},
		{Setting: "lora.mlp", Path: "lora_mlp", Kind: Switch, Default: "false", Source: litgptLoRA},
		{Setting: "lora.output", Path: "lora_head", Kind: Switch, Default: "false", Source: litgptLoRA},
		{Setting: "quantized", Path: "quantize", Kind: Word, Words: []Term{{"", ""}, {"bnb.nf4", FourBit}, {"bnb.nf4-dq", FourBit}, {"bnb.fp4", FourBit}, {"bnb.fp4-dq", FourBit}}, Means: EightBit, Source: litgptLoRA},
	}, litgptShared())
}

func litgptPretrainKeys() []Key {
	source := "litgpt 0.5.13, pretrain.py: setup"
	return slices.Concat([]Key{
		{Setting: "model", Path: "model_name", Kind: Name, Source: source},
		{Setting: "refused", Path: "model_config", Kind: Present, Means: "describes LitGPT's own model", Source: source},
		{Setting: "batch", Path: "train.micro_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "4", Source: source},
		{Setting: "effective", Path: "train.global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "512", Source: source},
		{Setting: "clip", Path: "train.max_norm", Kind: Above0, Default: "1.0", Source: source},
		{Setting: "dist.world", Path: "devices", Kind: Whole, Unit: "GPUs", Default: "auto", Source: source},
		{Setting: "noted", Path: "model_name", Kind: Present, Means: "is one of LitGPT's own models, which it compiles with torch.compile", Then: takesEither, Source: source},
	}, litgptShared())
}

// litgptShared returns the keys that finetuning and pretraining have in common.
func litgptShared() []Key {
	precision := "litgpt 0.5.13, utils.py: get_default_supported_precision"
	return []Key{
		{Setting: "precision", Path: "precision", Kind: Word, Words: lightningPrecision, Default: "bf16-mixed", Source: precision},
		{Setting: "seq", Path: "train.max_seq_length", Kind: Whole, Unit: "tokens", Source: litgptTrain},
		{Setting: "workers", Path: "data.init_args.num_workers", Kind: Whole, Unit: "processes per GPU", Source: "litgpt 0.5.13, data"},
		{Setting: "nodes", Path: "num_nodes", Kind: Whole, Unit: "machines", Source: litgptLoRA},
		{Setting: "optimizer", Path: "optimizer.class_path", Kind: Word, Words: torchClasses, Reads: anyOptimizer,
			Beside: fusedSwitch("init_args.fused", torchFused), Default: "torch.optim.AdamW", Source: "litgpt 0.5.13, utils.py: instantiate_torch_optimizer"},
		{Setting: "optimizer", Path: "optimizer", Kind: Word, Reads: anyOptimizer, Source: "litgpt 0.5.13, utils.py: instantiate_torch_optimizer"},
		paged("optimizer.class_path", litgptTrain),
		either("train.tie_embeddings", "ties the head to the embeddings", litgptTrain),
	}
}

// startsAdapter matches LitGPT's commands for other ways of finetuning.
var startsAdapter = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(litgpt\s+finetune_adapter\w*|finetune/adapter(?:_v2)?\.py)\b`, "adapter")
