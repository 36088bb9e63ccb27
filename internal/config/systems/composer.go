// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const foundryConfig = "llm-foundry 0.22, utils/config_utils.py (TrainConfig)"

// composer is Composer's and llm-foundry's YAML. Accumulation has no key: it
// follows from the global batch.
var composer = System{
	Name: "composer", Title: "Composer / llm-foundry", Formats: []doc.Format{doc.YAML},
	Signs: []string{"device_train_microbatch_size", "global_train_batch_size train_loader", "global_train_batch_size max_seq_len"},
	Keys:  keysOf(composerKeys),

	Finding:  Finding{MakesSections: true},
	Sharding: Sharding{GathersInAutocast: true},
}

func composerKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model.pretrained_model_name_or_path", Kind: Name, Source: foundryConfig},
		{Setting: "model", Path: "model.pretrained_model_name", Kind: Name, Source: "mosaicml/examples, benchmarks/bert"},
		{Setting: "refused", Path: "model.name", Kind: Word, Words: []Term{{"hf_causal_lm", ""}, {"hf_t5", ""}, {"hf_bert", ""}, {"", ""}}, Means: "is built from llm-foundry's own layers", Source: "llm-foundry 0.22, models/__init__.py"},
		{Setting: "batch", Path: "device_train_microbatch_size", Kind: Whole, Unit: "samples per GPU", Default: "auto", Source: foundryConfig},
		{Setting: "effective", Path: "global_train_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: foundryConfig},
		{Setting: "precision", Path: "precision", Kind: Word, Default: "amp_bf16",
			Words: []Term{{"amp_bf16", "amp-bf16"}, {"amp_fp16", "amp-fp16"}, {"fp32", "fp32"}}, Source: foundryConfig},
		{Setting: "checkpointing", Path: "fsdp_config.activation_checkpointing", Kind: Switch, Default: "false", Source: "composer, distributed/shared_utils and FSDPConfig"},
		{Setting: "seq", Path: "max_seq_len", Kind: Whole, Unit: "tokens", Source: foundryConfig},
		{Setting: "workers", Path: "train_loader.num_workers", Kind: Whole, Unit: "processes per GPU", Source: foundryConfig},
		{Setting: "optimizer", Path: "optimizer.name", Kind: Word, Words: foundryOptimizers, Reads: anyOptimizer, Source: "llm-foundry 0.22, optim/__init__.py"},
		{Setting: "attention", Path: "model.use_flash_attention_2", Kind: Switch, Means: "flash", Source: "llm-foundry 0.22, models/hf/hf_base.py"},
		{Setting: "attention", Path: "model.attn_implementation", Kind: Word, Words: hfAttention, Source: "llm-foundry 0.22, models/hf/hf_base.py"},
		{Setting: "attention", Path: "model.config_overrides.attn_config.attn_impl", Kind: Word,
			Words: []Term{{"torch", "eager"}, {"flash", "flash"}}, Source: "llm-foundry 0.22, models/mpt/configuration_mpt.py"},
		{Setting: "clip", Path: "algorithms.gradient_clipping.clipping_threshold", Kind: Above0, Source: "composer, algorithms/gradient_clipping"},
		{Setting: "dist.kind", Path: "fsdp_config.sharding_strategy", Kind: Word, Words: fsdp1Strategies, Source: "composer, FSDPConfig"},
		{Setting: "dist.mixed", Path: "fsdp_config.mixed_precision", Kind: Word, Words: []Term{{"DEFAULT", "weights"}, {"PURE", "all"}, {"FULL", ""}}, Default: "DEFAULT",
			Source: "composer, distributed/mosaic_parallelism.py: get_mixed_precision"},
		{Setting: "refused", Path: "tp_config", Kind: Present, Means: splitsLayers, Source: foundryConfig},
		less("fsdp_config.activation_cpu_offload", offloadsActivations, "composer, FSDPConfig"),
		{Setting: "noted", Path: "compile_config", Kind: Present, Means: compiles, Then: takesEither, Source: foundryConfig},
		{Setting: "quantized", Path: "model.load_in_8bit", Kind: Switch, Means: EightBit, Source: "llm-foundry 0.22, models/hf/hf_causal_lm.py"},
		{Setting: "lora.rank", Path: "model.peft_config.r", Kind: Whole, Source: "llm-foundry 0.22, models/hf/hf_causal_lm.py"},
		{Setting: "lora.alpha", Path: "model.peft_config.lora_alpha", Kind: Number, Source: "llm-foundry 0.22, models/hf/hf_causal_lm.py"},
		{Setting: "lora.dropout", Path: "model.peft_config.lora_dropout", Kind: Number, Source: "llm-foundry 0.22, models/hf/hf_causal_lm.py"},
		{Setting: "lora.targets", Path: "model.peft_config.target_modules", Kind: Names, Source: "llm-foundry 0.22, models/hf/hf_causal_lm.py"},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: "composer 0.32, models/huggingface.py: get_peft_model; " + upcast},
		{Setting: "lora.dora", Path: "model.peft_config.use_dora", Kind: Switch, Source: peftConfig},
		{Setting: "lora.save", Path: "model.peft_config.modules_to_save", Kind: Names, Source: peftConfig},
		{Setting: "uncounted", Path: "model.peft_config.target_parameters", Kind: Names, Source: peftConfig},
		{Setting: "uncounted", Path: "model.peft_config.lora_bias", Kind: Switch, Means: "adapter biases", Source: peftConfig},
		{Setting: "uncounted", Path: "model.peft_config.bias", Kind: Word, Words: []Term{{"none", ""}, {"all", "trained biases"}, {"lora_only", "trained biases"}}, Source: peftConfig},
	}
}
