// SPDX-License-Identifier: Apache-2.0

package systems

// trlObjectives returns the keys that only trainers other than SFT have.
func trlObjectives() []Key {
	rows := "trl 1.16, trainer/dpo_config.py, kto_config.py and dpo_trainer.py (until 0.24)"
	sampled := "trl 1.16, trainer/grpo_config.py"
	return []Key{
		{Setting: "refused", Path: "use_vllm", Kind: Switch, Means: "samples answers with vLLM, which reserves part of the GPU's memory for itself", Source: sampled},
		{Setting: "refused", Path: "loss_type", Kind: Word, Words: []Term{{"nll", ""}, {"chunked_nll", ""}, {"dft", ""}}, Means: notTokens, Source: trlSFT},
		refusedWith("beta", comparesAnswers, rows),
		refusedWith("max_prompt_length", comparesAnswers, rows),
		refusedWith("precompute_ref_log_probs", comparesPairs, rows),
		refusedWith("sync_ref_model", comparesPairs, rows),
		refusedWith("desirable_weight", weighsAnswers, rows),
		refusedWith("undesirable_weight", weighsAnswers, rows),
		refusedWith("num_generations", samplesFirst, sampled),
		refusedWith("max_completion_length", samplesFirst, sampled),
		refusedWith("reward_funcs", samplesFirst, sampled),
		refusedWith("reward_model_name_or_path", samplesFirst, sampled),
		refusedWith("reward_model_path", samplesFirst, sampled),
		refusedWith("center_rewards_coefficient", scoresAnswers, "trl 1.16, trainer/reward_config.py"),
		refusedWith("teacher_model_name_or_path", distils, "trl 1.16, trainer/distillation_config.py"),
		less("activation_offloading", offloadsActivations, trlSFT),
	}
}
