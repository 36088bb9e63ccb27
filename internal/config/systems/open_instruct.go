// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

const instructArgs = "open-instruct, open_instruct/finetune.py: FlatArguments"

// openInstruct is the YAML that open-instruct's finetune.py reads, and openInstructFlags are the scripts that start
// it. The program has its own loop around accelerate and shares only argument names with TrainingArguments.
var (
	openInstruct = System{
		Name: "open-instruct", Title: "open-instruct", Formats: []doc.Format{doc.YAML, doc.JSON},
		Signs: []string{
			TrainerBatch + " with_tracking", TrainerBatch + " checkpointing_steps", TrainerBatch + " use_slow_tokenizer",
			TrainerBatch + " dataset_mixer_list", TrainerBatch + " keep_last_n_checkpoints",
		},
		Keys:    keysOf(openInstructKeys),
		Loading: openInstructLoading,
	}
	openInstructFlags = System{
		Name: "open-instruct-script", Title: "a shell script that starts open-instruct's finetune.py", Formats: shellOnly, ByName: true,
		Makes: pattern.New(`(?m)^[^#\n]*\bopen_instruct[./]finetune\b`, "open_instruct"),
		Keys: keysOf(func() []Key {
			return append(flagsOf(openInstructKeys(), anyLauncher()), Key{Setting: "link", Path: "**.config", Kind: Link, Source: byConvention})
		}),
		Finding: programFinding(), Loading: openInstructLoading,
	}
	openInstructLoading = Loading{LoadsTyped: true, Computes: ComputesAsHeld}
)

func openInstructKeys() []Key {
	load := "open-instruct, open_instruct/finetune.py: from_pretrained"
	keys := []Key{
		{Setting: "model", Path: hfModel, Kind: Name, Source: instructArgs},
		{Setting: "batch", Path: TrainerBatch, Kind: Whole, Unit: "samples per GPU", Default: "8", Source: instructArgs},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: instructArgs},
		{Setting: "seq", Path: "max_seq_length", Kind: Whole, Unit: "tokens", Source: instructArgs},
		{Setting: "weights", Kind: Word, Words: torchTypes, Default: "bfloat16", Source: load},
		{Setting: "checkpointing", Path: "gradient_checkpointing", Kind: Switch, Default: "false", Source: instructArgs},
		{Setting: "attention", Path: "use_flash_attn", Kind: Word, Words: []Term{{"true", "flash"}, {"false", "sdpa"}}, Default: "true", Source: instructArgs + "; later releases use it if it is installed"},
		{Setting: "optimizer", Path: "fused_optimizer", Kind: Word, Words: []Term{{"true", "adamw-fused"}, {"false", "adamw"}}, Default: "true", Source: instructArgs},
		{Setting: "clip", Path: "clip_grad_norm", Kind: Above0, Default: "-1", Source: instructArgs},
		{Setting: "liger", Path: "use_liger_kernel", Kind: Switch, Default: "false", Source: instructArgs},
		{Setting: "lora", Path: "use_lora", Kind: Switch, Default: "false", Source: instructArgs},
		{Setting: "lora.rank", Path: "lora_rank", Kind: Whole, Default: "64", Source: instructArgs},
		{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "16", Source: instructArgs},
		{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.1", Source: instructArgs},
		{Setting: "lora.targets", Kind: Names, Default: "q_proj,o_proj,v_proj,k_proj,gate_proj,up_proj,down_proj", Source: load},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: load + "; " + upcast},
		{Setting: "quantized", Path: "use_qlora", Kind: Switch, Means: FourBit, Quantizer: &Quantizer{Type: "nf4", Double: true, Prepares: true}, Source: load},
		{Setting: "noted", Path: "use_qlora", Kind: Switch, Means: "uses bitsandbytes' paged AdamW, which " + pagedStates, Then: takesEither, Source: load},
		less("use_8bit_optimizer", "keeps optimizer states in 8 bits", instructArgs),
		either("load_balancing_loss", "adds a loss over the experts", instructArgs),
		marked("reduce_loss", takesEither, instructArgs, Term{"sum", "computes the loss with its own function"}),
		{Setting: "noted", Path: "packing", Kind: Switch, Means: "packs the samples of a batch without padding", Then: takesLess, Source: instructArgs},
		shares("sequence_parallel_size", instructArgs),
	}
	keys = append(keys, refusedFlags(comparesPairs, "open-instruct, open_instruct/dpo_tune_cache.py", "dpo_beta", "dpo_loss_type", "dpo_use_paged_optimizer")...)
	keys = append(keys, refusedFlags(comparesPairs, "open-instruct, open_instruct/dpo.py", "loss_type")...)
	return append(keys, refusedFlags(samplesFirst, "open-instruct, open_instruct/grpo_fast.py", "num_samples_per_prompt_rollout", "num_unique_prompts_rollout", "reward_model_path")...)
}
