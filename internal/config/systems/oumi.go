// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
)

const (
	oumiModel    = "oumi (August 2026), core/configs/params/model_params.py"
	oumiTraining = "oumi (August 2026), core/configs/params/training_params.py: TrainingParams and to_hf"
	oumiPEFT     = "oumi (August 2026), core/configs/params/peft_params.py"
	oumiFSDP     = "oumi (August 2026), core/configs/params/fsdp_params.py and core/distributed.py: get_accelerate_env_vars"
	oumiZero     = "oumi (August 2026), core/configs/params/deepspeed_params.py"
)

// oumi is oumi's YAML for training. It runs transformers' Trainer or TRL's, without autocast unless a key turns it
// on, regardless of TRL's default. The TRL that it requires is too old for the chunked loss (pyproject.toml: trl
// below 1.5).
var oumi = System{
	Name: "oumi", Title: "oumi", Formats: []doc.Format{doc.YAML},
	Signs: []string{"model.model_name training.trainer_type", "model.model_name training.per_device_train_batch_size", "model.model_name training data.train"},
	Keys:  keysOf(oumiKeys),

	Loading: Loading{
		Loop: "trainer", LoadsTyped: true, SavedSince5: true,
		PreparesQuantized: true, UncastIfSharded: true, // builders/models.py: build_peft_model; train.py: coerce_model_to_dtype
	},
	Sharding: Sharding{GathersInAutocast: true},
}

func oumiKeys() []Key {
	return slices.Concat(at("model.", oumiModelKeys()...), at("training.", oumiTrainingKeys()...), at("peft.", oumiAdapterKeys()...), oumiShardingKeys(), []Key{
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: "oumi (August 2026), builders/models.py: build_peft_model; " + upcast},
	})
}

func oumiModelKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model_name", Kind: Name, Source: oumiModel},
		{Setting: "seq", Path: "model_max_length", Kind: Whole, Unit: "tokens", Source: "oumi (August 2026), core/configs/training_config.py: max_length of TRL's trainers; otherwise their own 1024"},
		{Setting: "weights", Path: "torch_dtype_str", Kind: Word, Words: oumiTypes, Default: "auto", Source: oumiModel},
		{Setting: "attention", Path: "attn_implementation", Kind: Word, Words: hfAttention, Source: oumiModel},
		{Setting: "liger", Path: "enable_liger_kernel", Kind: Switch, Default: "false", Source: oumiModel},
		{Setting: "noted", Path: "freeze_layers", Kind: Present, Means: fewLayers, Then: takesLess, Source: oumiModel},
		{Setting: "noted", Path: "adapter_model", Kind: Present, Means: "also loads adapters", Then: takesMore, Source: oumiModel},
	}
}

func oumiTrainingKeys() []Key {
	return []Key{
		{Setting: "refused", Path: "trainer_type", Kind: Word, Words: oumiTrainers, Means: notTokens, Source: oumiTraining},
		marked("trainer_type", takesEither, oumiTraining, Term{"oumi", "runs oumi's own loop"}),
		{Setting: "batch", Path: TrainerBatch, Kind: Whole, Unit: "samples per GPU", Default: "8", Source: oumiTraining},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: oumiTraining},
		{Setting: "precision", Path: "mixed_precision_dtype", Kind: Word, Words: []Term{{"none", ""}, {"bf16", "amp-bf16"}, {"fp16", "amp-fp16"}}, Source: oumiTraining},
		{Setting: "checkpointing", Path: "enable_gradient_checkpointing", Kind: Switch, Default: "false", Source: oumiTraining},
		{Setting: "optimizer", Path: "optimizer", Kind: Word, Words: hfOptimizers, Default: "adamw_torch", Source: oumiTraining},
		paged("optimizer", oumiTraining),
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: oumiTraining},
		{Setting: "workers", Path: "dataloader_num_workers", Kind: Whole, Unit: "processes per GPU", Default: "0", Source: oumiTraining},
		{Setting: "lora", Path: "use_peft", Kind: Switch, Default: "false", Source: oumiTraining},
		{Setting: "eval.batch", Path: "per_device_eval_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "8", Source: oumiTraining},
		{Setting: "eval.when", Path: "eval_strategy", Kind: Word, Words: evalTimes, Source: oumiTraining},
		either("compile", compiles, oumiTraining),
	}
}

func oumiAdapterKeys() []Key {
	quantizes := func(k Key) Key {
		k.OnlyIf = "peft.q_lora"
		return k
	}
	return []Key{
		{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Default: "8", Source: oumiPEFT},
		{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "8", Source: oumiPEFT},
		{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0", Source: oumiPEFT},
		{Setting: "lora.targets", Path: "lora_target_modules", Kind: Names, Source: oumiPEFT + "; otherwise PEFT's"},
		{Setting: "lora.save", Path: "lora_modules_to_save", Kind: Names, Source: oumiPEFT},
		{Setting: "uncounted", Path: "lora_target_parameters", Kind: Names, Source: oumiPEFT},
		{Setting: "uncounted", Path: "lora_bias", Kind: Word, Words: []Term{{"none", ""}, {"all", "trained biases"}, {"lora_only", "trained biases"}}, Source: oumiPEFT},
		{Setting: "noted", Path: "lora_exclude_modules", Kind: Present, Means: "omits some of the layers", Then: takesLess, Source: oumiPEFT},
		quantizes(quantBits("q_lora_bits", oumiPEFT, Quantizer{})),
		{Setting: "quantized", Path: "q_lora", Kind: Switch, Means: FourBit, Source: oumiPEFT},
		quantizes(Key{Setting: "quantization.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Default: "fp4", Source: oumiPEFT}),
		quantizes(Key{Setting: "quantization.double", Path: "use_bnb_nested_quant", Kind: Switch, Default: "false", Source: oumiPEFT}),
		quantizes(Key{Setting: "quantization.compute", Path: "bnb_4bit_compute_dtype", Kind: Word, Words: computeTypes, Reads: computeNames, Default: "float32", Source: oumiPEFT}),
	}
}

// oumiShardingKeys returns the keys of FSDP (accelerate uses FSDP 1) and of DeepSpeed.
func oumiShardingKeys() []Key {
	fsdp := at("fsdp.",
		Key{Setting: "dist.kind", Path: "sharding_strategy", Kind: Word, Words: oumiStrategies, Source: oumiFSDP},
		marked("sharding_strategy", takesMoreOver, oumiFSDP, Term{"hybrid_shard", hybrid}, Term{"hybrid_shard_zero2", hybrid}),
		Key{Setting: "precision", Path: "mixed_precision", Kind: Word, Words: mixedPrecision, Source: oumiFSDP},
		less("cpu_offload", offloadsAll, oumiFSDP),
	)
	zero := at("deepspeed.",
		Key{Setting: "dist.kind", Path: "zero_stage", Kind: Word, Words: append([]Term{{"zero_0", "ddp"}, {"zero_1", "zero1-deepspeed"}, {"zero_2", "zero2"}, {"zero_3", "zero3"}}, zeroStages...), Source: oumiZero},
		Key{Setting: "precision", Path: "precision", Kind: Word, Words: []Term{{"bf16", "bf16"}, {"fp16", "fp16"}, {"", ""}}, Source: oumiZero},
		Key{Setting: "link", Path: "deepspeed_config_path", Kind: Link, Source: oumiZero},
		Key{Setting: "noted", Path: "offload_optimizer", Kind: Present, Means: offloadsStates, Then: takesLess, Source: oumiZero},
		Key{Setting: "noted", Path: "offload_param", Kind: Present, Means: offloadsWeights, Then: takesLess, Source: oumiZero},
	)
	for i := range fsdp {
		fsdp[i].OnlyIf = "fsdp.enable_fsdp"
	}
	for i := range zero {
		zero[i].OnlyIf = "deepspeed.enable_deepspeed"
	}
	return slices.Concat(fsdp, zero, []Key{
		{Setting: "dist.kind", Path: "fsdp.enable_fsdp", Kind: Switch, Means: "fsdp1", Vague: true, Source: oumiFSDP},
	})
}

const hybrid = "keeps a copy of the model on each machine"

// oumiStrategies are the values of sharding_strategy.
var oumiStrategies = []Term{
	{"FULL_SHARD", "fsdp1"}, {"HYBRID_SHARD", "fsdp1"}, {"SHARD_GRAD_OP", "fsdp2-noreshard"}, {"HYBRID_SHARD_ZERO2", "fsdp2-noreshard"}, {"NO_SHARD", "ddp"},
}

// oumiTrainers are oumi's trainers and their objectives; "" for a loss over tokens.
var oumiTrainers = []Term{
	{"trl_sft", ""}, {"hf", ""}, {"oumi", ""}, {"trl_dpo", comparesPairs}, {"trl_kto", weighsAnswers},
	{"trl_grpo", samplesFirst}, {"verl_grpo", samplesFirst}, {"trl_gkd", distils}, {"trl_gold", distils},
}

// oumiTypes are the types of weights, with their short names.
var oumiTypes = append(torchTypes[:len(torchTypes):len(torchTypes)],
	Term{"bf16", "bf16"}, Term{"f16", "fp16"}, Term{"half", "fp16"}, Term{"f32", "fp32"}, Term{"float", "fp32"})
