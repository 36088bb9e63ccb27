// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/pattern"
)

// What is simulated is one model and one loss over the tokens of each sample. Other
// objectives run more: pairs of answers, a frozen reference, a critic, sampling.

// These match classes that Python scripts make, and programs that shell scripts start, to train for
// something other than a loss over tokens.
var (
	otherClasses = pattern.New(`(?m)^[^#\n]*?\b((?:Online)?(?:DPO|KTO|ORPO|CPO|BCO|PPO|RLOO|GRPO|Reward|PRM|GKD|Distillation)(?:v2)?(?:Config|Trainer))\(`,
		"DPO", "KTO", "ORPO", "CPO", "BCO", "PPO", "RLOO", "GRPO", "Reward", "PRM", "GKD", "Distillation")
	otherPrograms = pattern.New(`(?m)^[^#\n]*?\b(trl\s+(?:dpo|kto|reward|grpo|rloo|distillation)\b|(?:\w+_)?(?:dpo|kto|orpo|cpo|ppo|rloo|grpo|gkd)(?:_\w+)?\.py\b)`,
		"trl", "dpo", "kto", "orpo", "cpo", "ppo", "rloo", "grpo", "gkd")
)

// otherTrainer lists what a script of the project makes or starts that trains for another objective.
func (r *Run) otherTrainer() []Missing {
	for _, s := range r.SourcesRead() {
		d := s.Tree.Layers[0].Doc
		known := map[doc.Format]*pattern.Pattern{doc.Python: otherClasses, doc.Shell: otherPrograms}[d.Format()]
		if known == nil {
			continue
		}
		if at := known.Index(d.Text()); at != nil {
			what := projects.Submatch(d, at, 1)
			return []Missing{{Training, refusal(s.LineOf(d, at[2]), what, systems.Objective(what))}}
		}
	}
	return nil
}
