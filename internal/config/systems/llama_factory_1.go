// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const (
	factory1Training = "llamafactory 0.9.5, v1/config/training_args.py"
	factory1Model    = "llamafactory 0.9.5, v1/config/model_args.py and v1/core/model_engine.py"
	factory1PEFT     = "llamafactory 0.9.5, v1/plugins/model_plugins/peft.py"
	factory1Shards   = "llamafactory 0.9.5, v1/plugins/trainer_plugins/distributed"
)

// llamaFactory1 is the YAML of LLaMA-Factory's next version, which has a trainer of its own: without autocast, with float32
// weights unless adapters are trained, and FSDP2 that gathers in bfloat16.
var llamaFactory1 = System{
	Name: "llama-factory-1", Title: "LLaMA-Factory 1", Formats: []doc.Format{doc.YAML},
	Signs: []string{"model model_class train_dataset", "model train_dataset micro_batch_size", "model train_dataset cutoff_len"},
	Keys:  keysOf(llamaFactory1Keys),

	Loading: Loading{LoadsTyped: true, CastsTrained: true, QuantizesItself: "quantizes them in a version of LLaMA-Factory that is not simulated"},
}

func llamaFactory1Keys() []Key {
	return []Key{
		{Setting: "model", Path: "model", Kind: Name, Source: factory1Model},
		{Setting: "batch", Path: "micro_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: factory1Training},
		{Setting: "effective", Path: "global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: factory1Training},
		{Setting: "seq", Path: "cutoff_len", Kind: Whole, Unit: "tokens", Default: "2048", Source: factory1Training},
		{Setting: "precision", Kind: Word, Words: []Term{{"fp32", "fp32"}}, Default: "fp32", Source: factory1Model + ": no autocast"},
		{Setting: "weights", Kind: Word, Words: torchTypes, Default: "auto", Source: factory1Model},
		{Setting: "checkpointing", Path: "enable_activation_checkpointing", Kind: Switch, Default: "true", Source: factory1Training},
		{Setting: "optimizer", Kind: Word, Words: torchClasses, Default: "torch.optim.AdamW", Source: "llamafactory 0.9.5, v1/core/base_trainer.py: _init_optimizer"},
		{Setting: "attention", Path: "flash_attn", Kind: Word, Words: hfAttention, Default: "sdpa", Source: factory1Model},
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: factory1Training},
		{Setting: "workers", Path: "batching_workers", Kind: Whole, Unit: "processes per GPU", Default: "16", Source: factory1Training},
		{Setting: "lora", Path: "peft_config.name", Kind: Word, Words: []Term{{"lora", "true"}, {"freeze", "false"}}, Source: factory1PEFT},
		marked("peft_config.name", takesLess, factory1PEFT, Term{"freeze", fewLayers}),
		{Setting: "lora.rank", Path: "peft_config.r", Kind: Whole, Default: "8", Source: factory1PEFT},
		{Setting: "lora.alpha", Path: "peft_config.lora_alpha", Kind: Number, Default: "16", Source: factory1PEFT},
		{Setting: "lora.dropout", Path: "peft_config.lora_dropout", Kind: Number, Default: "0.05", Source: factory1PEFT},
		{Setting: "lora.targets", Path: "peft_config.target_modules", Kind: Names, Default: "all", Source: factory1PEFT},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: factory1PEFT + "; " + upcast},
		{Setting: "lora.dora", Path: "peft_config.use_dora", Kind: Switch, Source: factory1PEFT},
		{Setting: "lora.save", Path: "peft_config.modules_to_save", Kind: Names, Source: factory1PEFT},
		{Setting: "dist.kind", Path: "dist_config.reshard_after_forward", Kind: Word, Words: fsdp2Reshard, Source: factory1Shards},
		{Setting: "dist.kind", Path: "dist_config.name", Kind: Word, Words: []Term{{"fsdp2", "fsdp2"}, {"deepspeed", "zero2"}}, Vague: true, Source: factory1Shards},
		{Setting: "dist.version", Kind: Whole, Default: "2", Source: factory1Shards},
		{Setting: "dist.param_dtype", Path: "bf16", Kind: Word, Words: []Term{{"true", "bf16"}, {"false", "fp32"}}, Default: "true", Source: factory1Shards},
		{Setting: "link", Path: "dist_config.config_file", Kind: Link, Source: factory1Shards},
		less("dist_config.offload_params", offloadsAll, factory1Shards),
		shares("cp_size", factory1Training),
		{Setting: "quantized", Path: "quant_config.quantization_bit", Kind: Word, Words: []Term{{"4", FourBit}, {"8", eightBit}, {"", ""}}, Means: "fewer bits", Source: "llamafactory 0.9.5, v1/plugins/model_plugins/quantization.py"},
		refusedWith("pref_loss", comparesPairs, factory1Training),
		refusedWith("pref_beta", comparesPairs, factory1Training),
		{Setting: "refused", Path: "model_class", Kind: Word, Words: []Term{{"llm", ""}, {"", ""}}, Means: "trains another head than a language model's", Source: factory1Model},
		{Setting: "noted", Path: "optim_config.name", Kind: Present, Means: "replaces the optimizer", Then: takesEither, Source: factory1Training},
		{Setting: "noted", Path: "kernel_config.name", Kind: Present, Means: "replaces layers with its own kernels", Then: takesEither, Source: "llamafactory 0.9.5, v1/plugins/model_plugins/kernels"},
		{Setting: "noted", Path: "model", Kind: Present, Means: "computes its own loss besides the trainer's, which casts all logits to float32", Then: takesMore, Source: "llamafactory 0.9.5, v1/core/base_trainer.py: compute_log_probs"},
	}
}
