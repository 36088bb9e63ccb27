// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// What is simulated is one model and one loss over the tokens of each sample. Other
// objectives run more: pairs of answers, a frozen reference, a critic, sampling.

// What other objectives do, as the sentence goes on after their names.
const (
	comparesPairs   = "trains on pairs of answers, with twice the rows and most often a frozen reference model beside"
	comparesAnswers = "compares answers, most often with a frozen reference model beside"
	weighsAnswers   = "trains on judged answers, with a frozen reference model beside"
	samplesFirst    = "samples answers before it trains on them, with a reference or a cache beside"
	scoresAnswers   = "trains a head that scores answers, two for each sample"
	distils         = "runs a teacher beside the model"
	notTokens       = "is another loss than the one over tokens"
)

// objectives is what trainers call them, in files and on command lines.
var objectives = []word{
	{"sft", ""}, {"pt", ""}, {"pretrain", ""}, {"", ""},
	{"dpo", comparesPairs}, {"ipo", comparesPairs}, {"orpo", comparesPairs}, {"simpo", comparesPairs}, {"cpo", comparesPairs}, {"tpo", comparesPairs},
	{"kto", weighsAnswers}, {"bco", weighsAnswers},
	{"rm", scoresAnswers}, {"reward", scoresAnswers}, {"prm", scoresAnswers},
	{"ppo", samplesFirst}, {"grpo", samplesFirst}, {"gdpo", samplesFirst}, {"rloo", samplesFirst}, {"online_dpo", samplesFirst}, {"ebft", samplesFirst},
	{"gkd", distils}, {"distillation", distils},
}

// objective is a key that names what is trained for.
func objective(path, source string) Key {
	return Key{Setting: "refused", Path: path, Kind: Word, Words: objectives, Means: notTokens, Source: source}
}

// Classes that Python scripts make and programs that shell scripts start to train for
// something else than a loss over tokens.
var (
	otherClasses = pattern.New(`(?m)^[^#\n]*?\b((?:Online)?(?:DPO|KTO|ORPO|CPO|BCO|PPO|RLOO|GRPO|Reward|PRM|GKD|Distillation)(?:v2)?(?:Config|Trainer))\(`,
		"DPO", "KTO", "ORPO", "CPO", "BCO", "PPO", "RLOO", "GRPO", "Reward", "PRM", "GKD", "Distillation")
	otherPrograms = pattern.New(`(?m)^[^#\n]*?\b(trl\s+(?:dpo|kto|reward|grpo|rloo|distillation)\b|(?:\w+_)?(?:dpo|kto|orpo|cpo|ppo|rloo|grpo|gkd)(?:_\w+)?\.py\b)`,
		"trl", "dpo", "kto", "orpo", "cpo", "ppo", "rloo", "grpo", "gkd")
)

// otherTrainer is what a script of the project makes or starts that trains for
// something else.
func (p *Project) otherTrainer() []Missing {
	for _, s := range p.read() {
		d := s.tree.layers[0].doc
		known := map[doc.Format]*pattern.Pattern{doc.Python: otherClasses, doc.Shell: otherPrograms}[d.Format()]
		if known == nil {
			continue
		}
		if at := known.Index(d.Text()); at != nil {
			what := group(d, at, 1)
			return []Missing{{Training, refusal(s.lineOf(d, at[2]), what, objectiveOf(what))}}
		}
	}
	return nil
}

// objectiveOf is what a class or a program does, by the longest name within its own.
func objectiveOf(name string) string {
	best := word{means: notTokens}
	for _, o := range objectives {
		if len(o.file) > max(len(best.file), 2) && strings.Contains(strings.ToLower(name), o.file) {
			best = o
		}
	}
	return best.means
}

// read is the sources that the settings come from, the main one first.
func (p *Project) read() []*source {
	var out []*source
	if p.main != nil {
		out = append(out, p.main)
	}
	for _, b := range p.bound {
		if !slices.Contains(out, b.source) {
			out = append(out, b.source)
		}
	}
	return out
}
