// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/setup"
)

// trlAnswers maps the words for objectives to the loops of TRL's trainers that compare answers.
var trlAnswers = map[string]string{
	"dpo": setup.DPOLoop, "ipo": setup.DPOLoop, "kto": setup.KTOLoop, "orpo": setup.ORPOLoop, "cpo": setup.CPOLoop, "simpo": setup.CPOLoop,
	"reward": setup.RewardLoop, "rm": setup.RewardLoop, "grpo": setup.GRPOLoop,
}

// The values of loss_type that only one of these trainers has.
var (
	dpoLosses = []string{"sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero", "apo_down", "discopop", "sigmoid_norm"}
	ktoLosses = []string{"kto", "apo_zero_unpaired"}
	// All but the first are also DPO's.
	cpoLosses  = []string{"simpo", "sigmoid", "hinge", "ipo"}
	grpoLosses = []string{"grpo", "bnpo", "dr_grpo", "dapo", "cispo"}
)

// answerLosses returns all of these values as terms with the given meaning.
func answerLosses(means string) (out []Term) {
	for _, name := range slices.Concat(dpoLosses, ktoLosses, cpoLosses[:1], grpoLosses) {
		out = append(out, Term{name, means})
	}
	return out
}

// answerKeys maps the keys that only TRL's answer-comparing trainers have to the objective; "" if several have the
// key.
var answerKeys = map[string]string{
	"beta": "", "max_prompt_length": "", "max_completion_length": "", "precompute_ref_log_probs": "",
	"desirable_weight": "kto", "undesirable_weight": "kto", "num_generations": "grpo", "reward_funcs": "grpo", "center_rewards_coefficient": "reward",
}

// AnswersOf returns the objective that a TRL key or its value belongs to; known is false if its trainer is not
// simulated.
func AnswersOf(key, value, named string) (objective string, known bool) {
	if key != "loss_type" {
		objective, known = answerKeys[key]
		return objective, known
	}
	switch {
	case named == "cpo" && slices.Contains(cpoLosses, value), value == "simpo":
		return "cpo", true
	case slices.Contains(dpoLosses, value):
		return "dpo", true
	case slices.Contains(ktoLosses, value):
		return "kto", true
	case slices.Contains(grpoLosses, value):
		return "grpo", true
	}
	return "", false
}
