// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const (
	factoryV1Training = "llamafactory 0.9.5, v1/config/training_args.py"
	factoryV1Model    = "llamafactory 0.9.5, v1/config/model_args.py and v1/core/model_engine.py"
	factoryV1PEFT     = "llamafactory 0.9.5, v1/plugins/model_plugins/peft.py"
	factoryV1Shards   = "llamafactory 0.9.5, v1/plugins/trainer_plugins/distributed"
)

// llamaFactoryV1 is the YAML of LLaMA-Factory's next version, which has its own trainer. It uses no autocast, float32
// weights unless adapters are trained, and FSDP2 that gathers in bfloat16.
var llamaFactoryV1 = System{
	Name: "llama-factory-v1", Title: "LLaMA-Factory's v1 trainer", Formats: []doc.Format{doc.YAML, doc.JSON},
	Signs: []string{"model model_class train_dataset", "model train_dataset micro_batch_size", "model train_dataset cutoff_len"},
	Keys:  keysOf(llamaFactoryV1Keys),

	Loading: Loading{LoadsTyped: true, CastsTrained: true, QuantizesItself: "quantizes weights in a version of LLaMA-Factory that is not simulated"},
}

func llamaFactoryV1Keys() []Key {
	return []Key{
		{Setting: "model", Path: "model", Kind: Name, Source: factoryV1Model},
		{Setting: "batch", Path: "micro_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: factoryV1Training},
		{Setting: "effective", Path: "global_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: factoryV1Training},
		{Setting: "seq", Path: "cutoff_len", Kind: Whole, Unit: "tokens", Default: "2048", Source: factoryV1Training},
		{Setting: "precision", Kind: Word, Words: []Term{{"fp32", "fp32"}}, Default: "fp32", Source: factoryV1Model + ": no autocast"},
		{Setting: "weights", Kind: Word, Words: torchTypes, Default: "auto", Source: factoryV1Model},
		{Setting: "checkpointing", Path: "enable_activation_checkpointing", Kind: Switch, Default: "true", Source: factoryV1Training},
		{Setting: "optimizer", Kind: Word, Words: torchClasses, Default: "torch.optim.AdamW", Source: "llamafactory 0.9.5, v1/core/base_trainer.py: _init_optimizer"},
		{Setting: "attention", Path: "flash_attn", Kind: Word, Words: hfAttention, Default: "sdpa", Source: factoryV1Model},
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: factoryV1Training},
		{Setting: "workers", Path: "batching_workers", Kind: Whole, Unit: "processes per GPU", Default: "16", Source: factoryV1Training},
		{Setting: "lora", Path: "peft_config.name", Kind: Word, Words: []Term{{"lora", "true"}, {"freeze", "false"}}, Source: factoryV1PEFT},
		marked("peft_config.name", takesLess, factoryV1PEFT, Term{"freeze", fewLayers}),
		{Setting: "lora.rank", Path: "peft_config.r", Kind: Whole, Default: "8", Source: factoryV1PEFT},
		{Setting: "lora.alpha", Path: "peft_config.lora_alpha", Kind: Number, Default: "16", Source: factoryV1PEFT},
		{Setting: "lora.dropout", Path: "peft_config.lora_dropout", Kind: Number, Default: "0.05", Source: factoryV1PEFT},
		{Setting: "lora.targets", Path: "peft_config.target_modules", Kind: Names, Default: "all", Source: factoryV1PEFT},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: factoryV1PEFT + "; " + upcast},
		{Setting: "lora.dora", Path: "peft_config.use_dora", Kind: Switch, Source: factoryV1PEFT},
		{Setting: "lora.save", Path: "peft_config.modules_to_save", Kind: Names, Source: factoryV1PEFT},
		{Setting: "dist.kind", Path: "dist_config.reshard_after_forward", Kind: Word, Words: fsdp2Reshard, Source: factoryV1Shards},
		{Setting: "dist.kind", Path: "dist_config.name", Kind: Word, Words: []Term{{"fsdp2", "fsdp2"}, {"deepspeed", "zero2"}}, Vague: true, Source: factoryV1Shards},
		{Setting: "dist.version", Kind: Whole, Default: "2", Source: factoryV1Shards},
		{Setting: "dist.param_dtype", Path: "bf16", Kind: Word, Words: []Term{{"true", "bf16"}, {"false", "fp32"}}, Default: "true", Source: factoryV1Shards},
		{Setting: "link", Path: "dist_config.config_file", Kind: Link, Source: factoryV1Shards},
		less("dist_config.offload_params", offloadsAll, factoryV1Shards),
		shares("cp_size", factoryV1Training),
		{Setting: "quantized", Path: "quant_config.quantization_bit", Kind: Word, Words: []Term{{"4", FourBit}, {"8", EightBit}, {"", ""}}, Means: "fewer bits", Source: "llamafactory 0.9.5, v1/plugins/model_plugins/quantization.py"},
		refusedWith("pref_loss", comparesPairs, factoryV1Training),
		refusedWith("pref_beta", comparesPairs, factoryV1Training),
		{Setting: "refused", Path: "model_class", Kind: Word, Words: []Term{{"llm", ""}, {"", ""}}, Means: "trains a head other than a language model's", Source: factoryV1Model},
		{Setting: "noted", Path: "optim_config.name", Kind: Present, Means: "replaces the optimizer", Then: takesEither, Source: factoryV1Training},
		{Setting: "noted", Path: "kernel_config.name", Kind: Present, Means: "replaces layers with its own kernels", Then: takesEither, Source: "llamafactory 0.9.5, v1/plugins/model_plugins/kernels"},
		{Setting: "refused", Path: "train_dataset", Kind: Present, Means: "belongs to LLaMA-Factory's v1 trainer, which has its own loop and loss", Source: "llamafactory 0.9.5, v1/core/base_trainer.py: compute_log_probs"},
	}
}
