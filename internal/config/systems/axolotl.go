// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
	"snug/internal/setup"
)

const (
	axolotlSchema = "axolotl 0.19, utils/schemas/config.py, training.py and peft.py"
	axolotlFSDP   = "axolotl 0.19, utils/schemas/config.py and fsdp.py"
	axolotlTypes  = "axolotl 0.19, utils/config (torch_dtype) and core/builders/base.py"
)

// axolotl is Axolotl's YAML. Its bf16 and fp16 set both the type of the weights and autocast; "full" sets
// only the type. batch_size is the total.
var axolotl = System{
	Name: "axolotl", Title: "Axolotl", Formats: []doc.Format{doc.YAML},
	Signs: []string{"base_model micro_batch_size", "base_model sequence_len", "base_model datasets", "base_model adapter"},
	Keys:  keysOf(axolotlKeys),

	Behavior: Behavior{
		RefusesTwoSwitches: true, NamesTargets: true, LigerByKernel: true,
		// 0.19: check_auto_enable_lora_kernels.
		LoRAKernels: "Axolotl's own kernels (lora_mlp_kernel, lora_qkv_kernel, lora_o_kernel)",
	},
	Loading: Loading{
		Loop:              "trainer", // core/trainers/base.py: AxolotlTrainer
		PreparesQuantized: true, CastsBack: true, UncastIfSharded: true, Computes: ComputesAsArithmetic,
		CastsWithoutFlash: true, // 0.18, loaders/model.py: _configure_embedding_dtypes
		// 0.19, utils/config: normalize_config; core/builders/base.py: _configure_gradient_checkpointing.
		Reentrant: &Reentrance{Answers: false},
		// core/builders/rl.py: _get_trainer_cls.
		AnswerLoops: map[string]string{"dpo": setup.AxolotlDPOLoop, "ipo": setup.AxolotlDPOLoop, "orpo": setup.ORPOLoop, "simpo": setup.CPOLoop}, AnswersTRL: "1.9",
	},
	Sharding: Sharding{GathersInAutocast: true},
}

func axolotlKeys() []Key {
	return slices.Concat(axolotlRunKeys(), axolotlNotedKeys(), axolotlOtherKernels(), axolotlPlugins(), axolotlLigerKeys(), deepspeedWithin())
}

// axolotlRunKeys returns the keys that describe the run.
func axolotlRunKeys() []Key {
	return []Key{
		{Setting: "model", Path: "base_model", Kind: Name, Source: axolotlSchema},
		{Setting: "batch", Path: "micro_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: axolotlSchema},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: axolotlSchema},
		{Setting: "effective", Path: "batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: axolotlSchema},
		{Setting: "precision", Path: "bf16", Kind: Word, Words: []Term{{"true", "amp-bf16"}, {"auto", "amp-bf16"}, {"full", "bf16"}, {"false", ""}}, Default: "auto", Source: axolotlTypes},
		{Setting: "precision", Path: "fp16", Kind: Switch, Means: "amp-fp16", Source: axolotlTypes},
		{Setting: "weights", Path: "bf16", Kind: Word, Words: []Term{{"true", "bf16"}, {"auto", "bf16"}, {"full", "bf16"}, {"false", ""}}, Default: "auto", Source: axolotlTypes},
		{Setting: "weights", Path: "fp16", Kind: Switch, Means: "fp16", Source: axolotlTypes},
		{Setting: "precision", Path: "bfloat16", Kind: Switch, Means: "bf16", OnlyOff: "bf16", Source: axolotlTypes},
		{Setting: "precision", Path: "float16", Kind: Switch, Means: "fp16", OnlyOff: "bf16", Source: axolotlTypes},
		{Setting: "checkpointing", Path: "fsdp_config.activation_checkpointing", Kind: Switch, OfSharding: true, Source: axolotlFSDP},
		{Setting: "checkpointing", Path: "fsdp_config.fsdp_activation_checkpointing", Kind: Switch, OfSharding: true, Source: axolotlFSDP},
		{Setting: "checkpointing", Path: "gradient_checkpointing", Kind: Word,
			Words: []Term{{"true", "true"}, {"false", "false"}, {"offload", "true"}, {"offload_disk", "true"}, {"unsloth", "true"}}, Default: "false", Source: axolotlSchema},
		{Setting: "use_reentrant", Path: "gradient_checkpointing_kwargs.use_reentrant", Kind: Switch, Source: axolotlSchema},
		{Setting: "seq", Path: "sequence_len", Kind: Whole, Unit: "tokens", Default: "512", Source: axolotlSchema},
		{Setting: "workers", Path: "dataloader_num_workers", Kind: Whole, Unit: "processes per GPU", Source: axolotlSchema},
		{Setting: "optimizer", Path: "optimizer", Kind: Word, Words: hfOptimizers, Default: "adamw_torch_fused", Source: axolotlSchema},
		{Setting: "attention", Path: "attn_implementation", Kind: Word, Words: hfAttention, Source: axolotlSchema},
		{Setting: "attention", Path: "flash_attention", Kind: Switch, Means: "flash", Source: axolotlSchema + " (deprecated)"},
		{Setting: "attention", Path: "sdp_attention", Kind: Switch, Means: "sdpa", Source: axolotlSchema + " (deprecated)"},
		{Setting: "attention", Path: "eager_attention", Kind: Switch, Means: "eager", Source: axolotlSchema + " (deprecated)"},
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: axolotlSchema},
		{Setting: "lora", Path: "adapter", Kind: Word, Words: []Term{{"lora", "true"}, {"qlora", "true"}, {"", "false"}}, Source: axolotlSchema},
		{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Source: axolotlSchema},
		{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Source: axolotlSchema},
		{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0", Source: axolotlSchema},
		{Setting: "lora.targets", Path: "lora_target_modules", Kind: Names, Source: axolotlSchema},
		{Setting: "lora.linear", Path: "lora_target_linear", Kind: Switch, Source: axolotlSchema},
		{Setting: "lora.peft", Path: "peft_autocast_adapter_dtype", Kind: Switch, Default: "true", Source: "axolotl 0.19, loaders/adapter.py; " + upcast},
		{Setting: "kernels", Path: "lora_mlp_kernel", Kind: Switch, Source: axolotlSchema},
		{Setting: "kernels", Path: "lora_qkv_kernel", Kind: Switch, Source: axolotlSchema},
		{Setting: "kernels", Path: "lora_o_kernel", Kind: Switch, Source: axolotlSchema},
		{Setting: "lora.dora", Path: "peft_use_dora", Kind: Switch, Source: axolotlSchema},
		{Setting: "lora.save", Path: "lora_modules_to_save", Kind: Names, Source: axolotlSchema},
		{Setting: "uncounted", Path: "lora_target_parameters", Kind: Names, Source: axolotlSchema},
		{Setting: "quantized", Path: "load_in_4bit", Kind: Switch, Means: "4 bits", Source: axolotlSchema},
		{Setting: "quantized", Path: "load_in_8bit", Kind: Switch, Means: "8 bits", Source: axolotlSchema},
		{Setting: "quantization.type", Path: "bnb_config_kwargs.bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Default: "nf4", Source: axolotlBnb},
		{Setting: "quantization.double", Path: "bnb_config_kwargs.bnb_4bit_use_double_quant", Kind: Switch, Default: "true", Source: axolotlBnb},
		{Setting: "quantization.compute", Path: "bnb_config_kwargs.bnb_4bit_compute_dtype", Kind: Word, Words: computeTypes, Source: axolotlBnb},
		{Setting: "dist.kind", Path: "fsdp_config.reshard_after_forward", Kind: Word, Words: fsdp2Reshard, Source: axolotlFSDP},
		{Setting: "dist.kind", Path: "fsdp_config.fsdp_sharding_strategy", Kind: Word, Words: fsdp1Strategies, Source: axolotlFSDP},
		{Setting: "dist.kind", Path: "fsdp_config.sharding_strategy", Kind: Word, Words: fsdp1Strategies, Source: axolotlFSDP},
		{Setting: "dist.kind", Path: "fsdp", Kind: Word, Words: hfFSDP, Source: axolotlFSDP + " (deprecated)"},
		{Setting: "dist.version", Path: "fsdp_version", Kind: Whole, Default: "1", Source: axolotlSchema + "; utils/schemas/validation.py"},
		{Setting: "dist.version", Path: "fsdp_config.fsdp_version", Kind: Whole, Source: axolotlFSDP},
		{Setting: "dist.version", Path: "fsdp_config.version", Kind: Whole, Source: axolotlFSDP},
		{Setting: "dist.kind", Path: "fsdp_config", Kind: Present, Means: "fsdp1", Vague: true, Source: axolotlFSDP},
		{Setting: "dist.kind", Path: "fsdp_version", Kind: Word, Words: []Term{{"2", "fsdp2"}, {"1", "fsdp1"}}, Source: axolotlSchema},
		{Setting: "dist.world", Path: "dp_shard_size", Kind: Whole, Unit: "GPUs", Source: axolotlSchema},
		{Setting: "link", Path: "deepspeed", Kind: Link, Source: axolotlSchema},
	}
}

// axolotlNotedKeys returns the keys that affect memory but are not simulated.
func axolotlNotedKeys() []Key {
	return []Key{
		objective("rl", axolotlSchema),
		{Setting: "refused", Path: "precompute_ref_log_probs", Kind: Switch, Means: "computes the reference's log-probabilities before training", Source: axolotlSchema},
		{Setting: "refused", Path: "rl_adapter_ref_model", Kind: Switch, Means: "compares answers with a second model even with adapters", Source: axolotlSchema},
		{Setting: "refused", Path: "dpo_padding_free", Kind: Switch, Means: "joins the pairs of a batch into one sequence", Source: axolotlSchema},
		{Setting: "refused", Path: "dpo_use_weighting", Kind: Switch, Means: "weights pairs by sums over all logits", Source: axolotlSchema},
		{Setting: "refused", Path: "dpo_use_liger_kernel", Kind: Switch, Means: "computes the loss with Liger's kernel for DPO", Source: axolotlSchema},
		{Setting: "refused", Path: "reward_model", Kind: Switch, Means: scoresAnswers, Source: axolotlSchema},
		{Setting: "refused", Path: "process_reward_model", Kind: Switch, Means: scoresAnswers, Source: axolotlSchema},
		{Setting: "refused", Path: "qat", Kind: Present, Means: "rounds the weights of every linear layer as quantization would", Source: "axolotl 0.19, loaders/model.py: _configure_qat"},
		{Setting: "refused", Path: "quantize_moe_experts", Kind: Switch, Means: "quantizes the experts with Axolotl's own code", Source: axolotlSchema},
		splits("tensor_parallel_size", axolotlSchema),
		shares("context_parallel_size", axolotlSchema),
		shares("sequence_parallel_degree", axolotlSchema+" (deprecated)"),
		{Setting: "noted", Path: "fsdp", Kind: Word, Words: hfOffload, Then: takesLess, Source: axolotlFSDP + " (deprecated)"},
		less("fsdp_config.offload_params", offloadsAll, axolotlFSDP),
		less("fsdp_config.fsdp_offload_params", offloadsAll, axolotlFSDP),
		{Setting: "noted", Path: "unfrozen_parameters", Kind: Present, Means: fewLayers, Then: takesLess, Source: axolotlSchema},
		{Setting: "noted", Path: "lisa_n_layers", Kind: Present, Means: fewLayers, Then: takesLess, Source: axolotlSchema},
		marked("gradient_checkpointing", takesLess, axolotlSchema, Term{"offload", offloadsActivations}, Term{"offload_disk", offloadsActivations}, Term{"unsloth", offloadsActivations}),
		{Setting: "noted", Path: "selective_checkpointing", Kind: Present, Means: "keeps some results instead of recomputing them", Then: takesMore, Source: axolotlSchema},
		{Setting: "noted", Path: "activation_offloading", Kind: Present, Means: offloadsActivations, Then: takesLess, Source: axolotlSchema},
		less("layer_offloading", "keeps frozen layers in CPU memory", axolotlSchema),
		less("tiled_mlp", "runs the feed-forward layers in chunks", axolotlSchema),
		less("cut_cross_entropy", "never computes the logits", "axolotl 0.19, integrations/cut_cross_entropy"),
		less("chunked_cross_entropy", noLogits, axolotlSchema),
		either("use_eaft", ownLoss, axolotlSchema),
		{Setting: "eval.batch", Path: "eval_batch_size", Kind: Whole, Unit: "samples per GPU", Source: axolotlSchema},
		{Setting: "eval.when", Path: "eval_strategy", Kind: Word, Words: evalTimes, Source: axolotlSchema},
		{Setting: "eval.when", Path: "val_set_size", Kind: Above0, Source: axolotlSchema},
		compilesUnless("torch_compile", axolotlSchema),
		paged("optimizer", axolotlSchema),
	}
}
