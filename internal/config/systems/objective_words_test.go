// SPDX-License-Identifier: Apache-2.0

package systems

import "testing"

// TestObjectiveOf checks objectives read from the names of programs, folders and classes.
func TestObjectiveOf(t *testing.T) {
	for name, want := range map[string]string{
		"DPOTrainer": comparesPairs, "OnlineDPOConfig": comparesPairs, "SimPOTrainer": comparesPairs, "train_orpo.py": comparesPairs,
		"AsyncGRPOConfig": samplesFirst, "PPOv2Trainer": samplesFirst, "ppo2_main": samplesFirst, "step3_rlhf_finetuning": samplesFirst,
		"RewardTrainer": scoresAnswers, "reward_modeling.py": scoresAnswers, "train_rm.sh": scoresAnswers, "step2_reward_model_finetuning": scoresAnswers,
		"kto": weighsAnswers, "8B_to_1B_KD_lora": distils, "torchtune.rlhf.loss.DPOLoss": comparesPairs, "knowledge_distillation": distils,
		"llama-3-8b-base-sft": "", "3B_sft_for_grpo": "", "sft_then_dpo": comparesPairs, "Shippo": "", "adapt": "", "distilbert-base": "", "TrainingArguments": "",
		"dpo_dataset_sft": comparesPairs, "sdpo.yaml": comparesAnswers, "run_qwen_sapo": comparesAnswers, "repo": "", "topo_map": "",
	} {
		if _, got := ObjectiveOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestObjectiveOfKey checks objectives read from keys, and from the values of keys that name a method.
func TestObjectiveOfKey(t *testing.T) {
	for key, want := range map[string]string{
		"teacher_model": distils, "kd_ratio": distils, "reward_funcs": samplesFirst, "pref_beta": comparesPairs, "grpo_samples": samplesFirst,
		"ref_model_name_or_path": comparesAnswers, "num_generations": samplesFirst, "diffusion": denoises, "passage_max_len": comparesTexts, "train_group_size": comparesTexts,
		"prefetch_factor": "", "prefix": "", "dpo_dataset": "", "reward_column": "", "model_name": "", "rm": "", "learning_rate": "",
	} {
		if got := ObjectiveOfKey(key); got != want {
			t.Errorf("key %s: %q, want %q", key, got, want)
		}
	}
	for _, x := range []struct{ key, value, want string }{
		{"training.trainer_type", "TRL_DPO", comparesPairs}, {"loss._component_", "torchtune.rlhf.loss.SimPOLoss", comparesPairs},
		{"algorithm.name", "grpo", samplesFirst}, {"train.stage", "rm", scoresAnswers}, {"train.method", "orpo", comparesPairs},
		{"model.name", "zephyr-7b-dpo", ""}, {"run_name", "dpo", ""}, {"train.output_dir", "dpo", ""}, {"trainer.type", "TRL_SFT", ""}, {"optimizer.name", "ppo", ""},
	} {
		if got := ObjectiveOfValue(x.key, x.value); got != x.want {
			t.Errorf("%s %s: %q, want %q", x.key, x.value, got, x.want)
		}
	}
}

// TestTopicOf checks the topics of keys.
func TestTopicOf(t *testing.T) {
	for key, want := range map[string]Topic{
		"lora_rank": OfAdapters, "use_peft_lora": OfAdapters, "q_lora": OfAdapters, "lora_alpha": "", "lora_model_dir": "", "adapter_name_or_path": "",
		"use_4bit_quantization": OfBits, "bits": OfBits, "load_in_8bit": OfBits, "quantizer": OfBits, "stage3_gather_16bit_weights_on_model_save": "",
		"model_max_length": OfLength, "cutoff": OfLength, "block_size": OfLength, "max_tokens": OfLength, "max_new_tokens": "", "boft_block_size": OfAdapters,
		"generation_max_length": "", "warmup_length": "", "max_train_tokens": "",
		"freeze_vision_tower": OfFrozen, "unfrozen_parameters": OfFrozen, "lisa_layers": OfFrozen,
		"qat": OfMemory, "fp8": OfMemory, "mixture_of_depths": OfMemory, "use_liger": OfMemory, "neftune_noise": OfMemory, "galore_rank": OfMemory,
		"learning_rate": "", "resume_from_checkpoint": "", "seed": "", "checkpointing_steps": "", "tokenizers": "",
	} {
		if got := TopicOf(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for _, x := range []struct {
		key, value string
		want       Topic
	}{{"tuner_type", "lora", OfAdapters}, {"train_mode", "qlora", OfAdapters}, {"finetuning_type", "freeze", OfFrozen}, {"tuner_type", "full", ""}, {"lr_scheduler_type", "lora", ""}} {
		if got := TopicOfTuner(x.key, x.value); got != x.want {
			t.Errorf("%s %s: %q, want %q", x.key, x.value, got, x.want)
		}
	}
}
