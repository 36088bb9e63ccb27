// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/pattern"

const (
	rlhfSFT   = "OpenRLHF 0.10, openrlhf/cli/train_sft.py"
	rlhfOlder = "OpenRLHF 0.8, openrlhf/cli/train_sft.py"
	rlhfZero  = "OpenRLHF 0.10, openrlhf/utils/deepspeed/deepspeed_utils.py"
	rlhfActor = "OpenRLHF 0.10, openrlhf/models/actor.py"
)

// openRLHF is OpenRLHF's train_sft. Before 0.9 its flags had no sections; most kept the last part of their name.
// Its other programs have other objectives.
var openRLHF = System{
	Name: "openrlhf", Title: "OpenRLHF", Formats: shellOnly, ByName: true,
	Makes:   pattern.New(`(?m)^[^#\n]*\bopenrlhf[./]cli[./]train_sft\b`, "openrlhf"),
	Keys:    keysOf(func() []Key { return flagsOf(openRLHFKeys(), deepspeedLauncher()) }),
	Finding: programFinding(),
	Loading: Loading{Computes: ComputesAsArithmetic}, Sharding: Sharding{AlwaysDeepSpeed: true},
}

func openRLHFKeys() []Key {
	bf16 := []Term{{"bf16", "amp-bf16"}, {"fp16", "amp-fp16"}}
	return []Key{
		{Setting: "model", Path: "model_name_or_path", Kind: Name, Source: rlhfSFT},
		{Setting: "model", Path: "pretrain", Kind: Name, Source: rlhfOlder},
		{Setting: "batch", Path: "train.micro_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "8", Source: rlhfSFT},
		{Setting: "batch", Path: "micro_train_batch_size", Kind: Whole, Unit: "samples per GPU", Source: rlhfOlder},
		{Setting: "effective", Path: "train.batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "128", Source: rlhfSFT},
		{Setting: "effective", Path: "train_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: rlhfOlder},
		{Setting: "seq", Path: "max_len", Kind: Whole, Unit: "tokens", Default: "2048", Source: rlhfSFT},
		{Setting: "precision", Path: "param_dtype", Kind: Word, Words: bf16, Default: "bf16", Source: rlhfZero},
		{Setting: "precision", Path: "bf16", Kind: Switch, Means: "amp-bf16", Source: rlhfOlder},
		{Setting: "checkpointing", Path: "gradient_checkpointing_enable", Kind: Switch, Default: "false", Source: rlhfSFT},
		{Setting: "checkpointing", Path: "gradient_checkpointing", Kind: Switch, Source: rlhfOlder},
		{Setting: "attention", Path: "attn_implementation", Kind: Word, Words: hfAttention, Default: "flash_attention_2", Source: rlhfSFT},
		{Setting: "attention", Path: "flash_attn", Kind: Word, Words: []Term{{"true", "flash"}, {"false", "sdpa"}}, Source: rlhfOlder},
		{Setting: "optimizer", Path: "optim", Kind: Word, Words: []Term{{"adam", "adamw-fused"}}, Default: "adam", Source: rlhfZero + ": FusedAdam"},
		{Setting: "clip", Path: "max_norm", Kind: Above0, Default: "1.0", Source: rlhfSFT},
		{Setting: "liger", Path: "use_liger_kernel", Kind: Switch, Default: "false", Source: rlhfActor},
		{Setting: "dist.kind", Path: "zero_stage", Kind: Word, Words: zeroStages, Default: "2", Source: rlhfSFT},
		{Setting: "lora.rank", Path: "lora.rank", Kind: Whole, Source: rlhfSFT},
		{Setting: "lora.rank", Path: "lora_rank", Kind: Whole, Source: rlhfOlder},
		{Setting: "lora", Path: "lora.rank", Kind: Above0, Source: rlhfSFT},
		{Setting: "lora", Path: "lora_rank", Kind: Above0, Source: rlhfOlder},
		{Setting: "lora.dropout", Path: "lora.dropout", Kind: Number, Default: "0", Source: rlhfSFT},
		{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Source: rlhfOlder},
		{Setting: "lora.targets", Path: "target_modules", Kind: Names, Default: "all-linear", Source: rlhfSFT},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: rlhfActor + "; " + upcast},
		{Setting: "quantized", Path: "load_in_4bit", Kind: Switch, Means: FourBit, Quantizer: &Quantizer{Type: "nf4", Double: true}, Source: rlhfActor},
		less("adam_offload", offloadsStates, rlhfZero),
		either("deepcompile", compiles, rlhfZero),
		{Setting: "noted", Path: "packing_samples", Kind: Switch, Means: "packs the samples of a batch without padding", Then: takesLess, Source: rlhfSFT},
		shares("ring_attn_size", rlhfSFT),
		splits("tensor_parallel_size", rlhfSFT),
		always("computes the loss from log probabilities with its own functions", takesEither, "OpenRLHF 0.10, openrlhf/trainer/sft_trainer.py"),
	}
}
