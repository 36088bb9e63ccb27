// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
)

const (
	hfArgs   = "transformers 5.22, training_args.py"
	hfOptim  = hfArgs + "; adamw_torch with torch before 2.8"
	hfModel  = "model_name_or_path" // without it, a file has no model arguments, and the parser would refuse dtype
	trlModel = "trl 1.16, trainer/model_config.py"
)

// TrainerBatch is the name for the batch that only transformers' Trainer uses.
const TrainerBatch = "per_device_train_batch_size"

const scriptsArgument = "is an argument of scripts like run_clm.py; in your own script, pass it to from_pretrained instead"

// hf is Hugging Face's TrainingArguments, as HfArgumentParser reads them from JSON or YAML. The model is
// among the script's own arguments, usually as model_name_or_path.
var hf = System{
	Name: "hf", Title: "Hugging Face TrainingArguments", Formats: []doc.Format{doc.JSON, doc.YAML},
	Signs: []string{TrainerBatch, "gradient_accumulation_steps output_dir"},
	Keys:  keysOf(hfTable),

	Finding:  Finding{HoldsWhenBound: true, Companions: []string{"trl"}},
	Behavior: Behavior{RefusesTwoSwitches: true},
	Loading:  Loading{Loop: "trainer", LoadsTyped: true, SavedSince5: true, LoadedByScript: true},
	Sharding: Sharding{GathersInAutocast: true},
}

func hfTable() []Key {
	return append(append(hfKeys(), bnbKeys("", bnbConfig)...),
		Key{Setting: "seq", Path: "max_seq_length", Kind: Whole, Unit: "tokens", Source: "transformers' examples: run_*.py"},
		Key{Setting: "seq", Path: "block_size", Kind: Whole, Unit: "tokens", Source: "transformers' examples: run_clm.py"},
		Key{Setting: "seq", Path: "max_source_length", Kind: Whole, Unit: "tokens", Source: "transformers' examples: run_summarization.py"},
		Key{Setting: "target_seq", Path: "max_target_length", Kind: Whole, Unit: "tokens", Source: "transformers' examples: run_summarization.py"},
		Key{Setting: "lora.rank", Path: "lora_rank", Kind: Whole, Source: byConvention},
		Key{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Source: byConvention},
		Key{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Source: byConvention},
		Key{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Source: byConvention},
		Key{Setting: "lora.targets", Path: "lora_target_modules", Kind: Names, Source: byConvention},
		Key{Setting: "lora.targets", Path: "target_modules", Kind: Names, Source: byConvention},
		Key{Setting: "lora.peft", Kind: Switch, Default: "true", Source: "the trainer supports no other adapters; " + upcast},
		Key{Setting: "weights", Path: "dtype", Kind: Word, Words: torchTypes, Default: "auto", Source: fromPretrained, Needs: hfModel, Remark: scriptsArgument},
		Key{Setting: "weights", Path: "torch_dtype", Kind: Word, Words: torchTypes, Source: modelArguments, Needs: hfModel, Remark: scriptsArgument},
		Key{Setting: "lora.dora", Path: "use_dora", Kind: Switch, Source: byConvention},
		Key{Setting: "lora.save", Path: "modules_to_save", Kind: Names, Source: byConvention},
		Key{Setting: "lora", Path: "use_lora", Kind: Switch, Source: byConvention},
		Key{Setting: "lora", Path: "use_peft", Kind: Switch, Source: byConvention},
		Key{Setting: "quantized", Path: "load_in_4bit", Kind: Switch, Means: FourBit, Source: byConvention},
		Key{Setting: "quantized", Path: "load_in_8bit", Kind: Switch, Means: EightBit, Source: byConvention},
	)
}

// hfKeys returns the keys of every trainer that uses TrainingArguments. Their defaults are listed only here.
// Scripts that pass the trainer's flags use these keys too.
func hfKeys() []Key {
	return slices.Concat([]Key{
		{Setting: "model", Path: hfModel, Kind: Name, Source: "transformers' examples: ModelArguments"},
		{Setting: "batch", Path: TrainerBatch, Kind: Whole, Unit: "samples per GPU", Default: "8", Source: hfArgs},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: hfArgs},
		{Setting: "precision", Path: "bf16", Kind: Switch, Means: "amp-bf16", Default: "false", Source: hfArgs},
		{Setting: "precision", Path: "fp16", Kind: Switch, Means: "amp-fp16", Source: hfArgs},
		{Setting: "checkpointing", Path: "gradient_checkpointing", Kind: Switch, Default: "false", Source: hfArgs},
		{Setting: "use_reentrant", Path: "gradient_checkpointing_kwargs.use_reentrant", Kind: Switch, Source: hfArgs},
		{Setting: "workers", Path: "dataloader_num_workers", Kind: Whole, Unit: "processes per GPU", Default: "0", Source: hfArgs},
		{Setting: "optimizer", Path: "optim", Kind: Word, Words: hfOptimizers, Default: "adamw_torch_fused", Source: hfOptim},
		{Setting: "attention", Path: "attn_implementation", Kind: Word, Words: hfAttention, OfModel: true, Source: trlModel},
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: hfArgs},
		{Setting: "dist.kind", Path: "fsdp", Kind: Word, Words: hfFSDP, Source: hfArgs},
		{Setting: "link", Path: "deepspeed", Kind: Link, Source: hfArgs},
		{Setting: "link", Path: "fsdp_config", Kind: Link, Source: hfArgs},
		{Setting: "noted", Path: "fsdp", Kind: Word, Words: hfOffload, Then: takesLess, Source: hfArgs},
		{Setting: "eval.batch", Path: "per_device_eval_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "8", Source: hfArgs},
		{Setting: "eval.when", Path: "eval_strategy", Kind: Word, Words: evalTimes, Source: hfArgs},
		{Setting: "eval.when", Path: "evaluation_strategy", Kind: Word, Words: evalTimes, Source: hfArgs + " (until 4.46)"},
		{Setting: "eval.when", Path: "do_eval", Kind: Switch, Means: "end", Source: "transformers' examples: run_clm.py evaluates after training"},
		either("torch_compile", compiles, hfArgs),
		less("adafactor", "replaces the optimizer with Adafactor, which keeps less", hfArgs+" (until 4)"),
		{Setting: "noted", Path: "predict_with_generate", Kind: Switch, Means: generates, Then: mayTakeMore, Source: "transformers: Seq2SeqTrainingArguments"},
		paged("optim", hfArgs),
	}, at("fsdp_config.", fsdpConfigKeys()...), deepspeedWithin(), ligerKeys(hfArgs))
}

// hfFSDP are the values of TrainingArguments' fsdp: options in one string, or true since version 5. hfOffload
// are the values that offload.
var hfFSDP, hfOffload = hfOptions()

func hfOptions() (kinds, offloads []Term) {
	for _, s := range []Term{
		{"full_shard", "fsdp2"}, {"true", "fsdp2"}, {"shard_grad_op", "fsdp2-noreshard"}, {"no_shard", "ddp"}, {"", ""}, {"false", ""},
	} {
		kinds = append(kinds, s)
		if s.Means == "" || s.File == "true" {
			continue
		}
		kinds = append(kinds, Term{s.File + " auto_wrap", s.Means})
		for _, more := range []string{" offload", " offload auto_wrap", " auto_wrap offload"} {
			kinds = append(kinds, Term{s.File + more, s.Means})
			offloads = append(offloads, Term{s.File + more, offloadsAll})
		}
	}
	return kinds, offloads
}
