// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/pattern"

const (
	chatMain = "DeepSpeedExamples, applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py"
	chatZero = "DeepSpeedExamples, applications/DeepSpeed-Chat/dschat/utils/ds_utils.py"
	chatLoRA = "DeepSpeedExamples, applications/DeepSpeed-Chat/dschat/utils/module/lora.py"
)

// deepspeedChat is DeepSpeed-Chat's main.py. Its first step trains on tokens; the second and the third have
// other objectives.
var deepspeedChat = System{
	Name: "deepspeed-chat", Title: "DeepSpeed-Chat", Formats: shellOnly, ByName: true,
	Makes: pattern.New(`(?m)^[^#\n]*\s--(?:data_split|sft_only_data_path|only_optimize_lora|lora_module_name|actor_model_name_or_path)\b`,
		"--data_split", "--sft_only_data_path", "--only_optimize_lora", "--lora_module_name", "--actor_model_name_or_path"),
	Keys:    keysOf(func() []Key { return flagsOf(deepspeedChatKeys(), deepspeedLauncher()) }),
	Finding: programFinding(), Sharding: Sharding{AlwaysDeepSpeed: true},
}

func deepspeedChatKeys() []Key {
	keys := []Key{
		{Setting: "model", Path: "model_name_or_path", Kind: Name, Source: chatMain},
		{Setting: "batch", Path: TrainerBatch, Kind: Whole, Unit: "samples per GPU", Default: "16", Source: chatMain},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: chatMain},
		{Setting: "seq", Path: "max_seq_len", Kind: Whole, Unit: "tokens", Default: "512", Source: chatMain},
		{Setting: "precision", Path: "dtype", Kind: Word, Words: []Term{{"fp16", "amp-fp16"}, {"bf16", "amp-bf16"}}, Default: "fp16", Source: chatMain},
		{Setting: "checkpointing", Path: "gradient_checkpointing", Kind: Switch, Default: "false", Source: chatMain},
		{Setting: "optimizer", Kind: Word, Words: []Term{{"FusedAdam", "adamw-fused"}}, Default: "FusedAdam", Source: chatMain},
		{Setting: "clip", Kind: Above0, Default: "1.0", Source: chatZero},
		{Setting: "dist.kind", Path: "zero_stage", Kind: Word, Words: zeroStages, Default: "0", Source: chatMain},
		{Setting: "lora.rank", Path: "lora_dim", Kind: Whole, Source: chatMain},
		{Setting: "lora", Path: "lora_dim", Kind: Above0, Source: chatMain},
		{Setting: "lora.targets", Kind: Names, Default: "all-linear", Source: chatLoRA + ": each Linear of lora_module_name"},
		{Setting: "lora.peft", Kind: Switch, Default: "false", Source: chatLoRA},
		less("offload", "keeps weights and optimizer states in CPU memory", chatZero),
		{Setting: "noted", Path: "zero_stage", Kind: Word, Words: []Term{{"0", "keeps full float32 copies of the trained weights next to the 16-bit ones"}}, Then: takesEither, Default: "0", Source: chatZero},
		{Setting: "noted", Path: "lora_dim", Kind: Above1, Means: "also trains all weights outside the adapted layers, unless --only_optimize_lora is given", Then: takesMore, Without: "only_optimize_lora", Source: chatMain},
		either("compute_fp32_loss", "computes the loss in float32 with its own function", chatMain),
	}
	keys = append(keys, refusedFlags(comparesPairs, "step2_dpo_finetuning/main.py", "beta", "label_smoothing", "offload_reference_model")...)
	keys = append(keys, refusedFlags(scoresAnswers, "step2_reward_model_finetuning/main.py", "num_padding_at_beginning")...)
	return append(keys, refusedFlags(samplesFirst, "step3_rlhf_finetuning/main.py", "actor_model_name_or_path", "critic_model_name_or_path", "ppo_epochs", "actor_zero_stage")...)
}
