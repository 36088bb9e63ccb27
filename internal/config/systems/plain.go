// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
)

const byConvention = "convention"

// plain is for the user's own files. Keys are recognized by name, in any section and in any case. The first
// name in the table that is present is used; sections for evaluation are skipped.
var plain = System{
	Name: "plain", Title: "your own file, with common key names",
	Formats: []doc.Format{doc.YAML, doc.JSON, doc.TOML, doc.Python}, ByName: true,
	Keys: keysOf(plainKeys),

	Finding: Finding{OwnProgram: true, HasStages: true, MayBeStage: true, Startable: true},
}

func plainKeys() []Key {
	var out []Key
	add := func(k Key, names ...string) {
		for _, name := range names {
			k.Path, k.Source = "**."+name, byConvention
			out = append(out, k)
		}
	}
	add(Key{Setting: "model", Kind: Name}, "model_name_or_path", "pretrained_model_name_or_path", "base_model", "base_model_name", "model_name", "model_id", "partial_pretrain", "llm_backbone")
	add(Key{Setting: "batch", Kind: Whole, Unit: "samples per GPU"}, "micro_batch_size", "per_device_train_batch_size", "per_gpu_train_batch_size",
		"per_device_batch_size", "per_gpu_batch_size", "device_batch_size", "device_train_microbatch_size", "local_batch_size", "train_batch_size", "batch_size.train", "batch_size", "batchsize", "bs", "bsz")
	add(Key{Setting: "batch", Kind: Whole, Unit: "samples per GPU", Short: true}, "batch")
	add(Key{Setting: "accumulation", Kind: Schedule, Unit: "forward passes by epoch"}, "gradient_accumulation.scheduling", "accumulation_schedule")
	add(Key{Setting: "accumulation", Kind: Whole, Unit: "forward passes"}, "accumulate_grad_batches", "gradient_accumulation_steps", "grad_accumulation_steps",
		"gradient_accumulation", "grad_accum_steps", "accumulation_steps", "accum_steps", "grad_accum", "grad_acc_steps", "grad_acc", "acc_steps", "accum_iter",
		"gradient_accumulate_every", "grad_accum_every", "gradient_accumulate_steps")
	add(Key{Setting: "accumulation", Kind: Whole, Unit: "forward passes", Short: true}, "accumulation", "accumulate", "accum")
	add(Key{Setting: "effective", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs"}, "global_batch_size", "effective_batch_size", "total_batch_size")
	add(Key{Setting: "precision", Kind: Word, Words: lightningOnly, Reads: plainPrecision}, "precision")
	add(Key{Setting: "precision", Kind: Word, Words: mixedPrecision, Reads: plainPrecision}, "mixed_precision")
	add(Key{Setting: "precision", Kind: Switch, Means: "amp-bf16"}, "bf16")
	add(Key{Setting: "precision", Kind: Switch, Means: "amp-fp16"}, "fp16", "use_amp", "amp")
	add(Key{Setting: "checkpointing", Kind: Switch, Reads: []Term{{"unsloth", "true"}}}, "gradient_checkpointing", "use_gradient_checkpointing", "grad_checkpointing",
		"activation_checkpointing", "use_checkpointing", "use_checkpoint")
	add(Key{Setting: "seq", Kind: Whole, Unit: "tokens"}, "max_seq_len", "max_seq_length", "seq_len", "seq_length", "sequence_length", "sequence_len",
		"max_length", "context_length", "block_size", "cutoff_len", "model_max_length", "model_max_len", "max_sequence_length", "max_len", "ctx_len", "seqlen", "max_source_length")
	add(Key{Setting: "target_seq", Kind: Whole, Unit: "tokens"}, "max_target_length")
	add(Key{Setting: "seq", Kind: Whole, Unit: "tokens", Short: true}, "seq")
	add(Key{Setting: "positives", Kind: Whole, Unit: "samples per anchor"}, "n_positives", "num_positives")
	add(Key{Setting: "negatives", Kind: Whole, Unit: "samples per anchor"}, "n_negatives", "num_negatives", "num_hard_negatives")
	add(Key{Setting: "workers", Kind: Whole, Unit: "processes per GPU"}, "num_workers", "dataloader_num_workers", "n_workers")
	// The other values that the user's program accepts are unknown.
	add(Key{Setting: "optimizer", Kind: Word, Reads: anyOptimizer}, "optimizer.name", "optimizer.type")
	add(Key{Setting: "optimizer", Kind: Word, Words: torchClasses, Reads: anyOptimizer, Beside: fusedSwitch("fused", torchFused)}, "optimizer._target_")
	add(Key{Setting: "optimizer", Kind: Word, Reads: anyOptimizer}, "optimizer", "optimizer_type")
	add(Key{Setting: "optimizer", Kind: Word, Words: hfOptimizers, Reads: anyOptimizer}, "optim")
	add(Key{Setting: "attention", Kind: Word, Words: hfAttention}, "attn_implementation", "_attn_implementation")
	add(Key{Setting: "attention", Kind: Switch, Means: "flash"}, "use_flash_attn", "use_flash_attention", "use_flash_attention_2")
	add(Key{Setting: "liger", Kind: Switch}, "use_liger_kernel", "enable_liger_kernel", "use_liger")
	add(Key{Setting: "clip", Kind: Above0}, "max_grad_norm", "gradient_clip_val", "clip_grad_norm", "grad_clip")
	add(Key{Setting: "lora", Kind: Switch}, "use_lora", "use_peft", "use_peft_lora", "use_qlora", "lora_enable", "enable_lora",
		"apply_lora", "do_lora", "with_lora", "lora", "qlora")
	add(Key{Setting: "lora.rank", Kind: Whole}, "lora_r", "lora_rank", "lora.r", "lora.rank", "lora_dim")
	add(Key{Setting: "lora.dora", Kind: Switch}, "use_dora")
	add(Key{Setting: "lora.alpha", Kind: Number}, "lora_alpha", "lora.alpha")
	add(Key{Setting: "lora.dropout", Kind: Number}, "lora_dropout", "lora.dropout")
	add(Key{Setting: "lora.targets", Kind: Names}, "lora_target_modules", "lora.target_modules", "lora.targets")
	add(Key{Setting: "lora.save", Kind: Names}, "lora.modules_to_save", "lora_modules_to_save", "modules_to_save")
	add(Key{Setting: "dist.kind", Kind: Word, Reads: lightningStrategies}, "strategy")
	add(Key{Setting: "dist.world", Kind: Whole, Unit: "GPUs"}, "devices", "num_gpus", "n_gpus")
	add(Key{Setting: "link", Kind: Link}, "deepspeed", "deepspeed_config")
	add(Key{Setting: "quantized", Kind: Switch, Means: FourBit}, "load_in_4bit", "use_4bit_quantization", "use_4bit")
	add(Key{Setting: "quantized", Kind: Switch, Means: EightBit}, "load_in_8bit", "use_8bit_quantization", "use_8bit")
	add(Key{Setting: "quantized", Kind: Word, Words: plainBits}, "bits")
	add(Key{Setting: "quantization.type", Kind: Word, Words: quantTypes}, "bnb_4bit_quant_type")
	add(Key{Setting: "quantization.double", Kind: Switch}, "bnb_4bit_use_double_quant", "use_double_quant", "use_nested_quant")
	add(Key{Setting: "quantization.compute", Kind: Word, Words: computeTypes, Reads: computeNames}, "bnb_4bit_compute_dtype")
	add(either("", compiles, byConvention), "torch_compile", "use_compile", "compile_model", "compile")
	return out
}

// plainBits are numbers of bits of weights; 16 and 32 mean that weights are not quantized.
var plainBits = []Term{{"4", FourBit}, {"8", EightBit}, {"16", ""}, {"32", ""}, {"", ""}}

// telling are the settings that make a file of an unknown system worth reading.
var telling = []string{"batch", "accumulation", "positives", "negatives"}

// DistinctiveSettings returns the settings that make a file of an unknown system worth reading.
func DistinctiveSettings() []string { return slices.Clone(telling) }
