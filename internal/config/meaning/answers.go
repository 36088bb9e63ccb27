// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// firstAnswersTRL is the first minor version of TRL 1 that computes log-probabilities in tiles, as the simulation
// does.
const firstAnswersTRL = 15

// answersLoop returns the loop of a trainer that compares answers, determined from keys that only it has or from the
// names of the file and its folders; "" if the run trains on tokens or its loop is not simulated.
func (r *Run) answersLoop() string {
	if r.Primary == nil || len(r.Trainer().AnswerLoops) == 0 || r.Primary.System.For != nil || r.Primary.System.Commands != nil || r.trlMinor() < firstAnswersTRL || r.World() > 1 {
		return ""
	}
	if r.namesTokens() {
		return ""
	}
	named := r.namedObjective()
	found, keys := "", 0
	for _, b := range r.BindingsOf("refused") {
		if does, _ := b.Value.(string); does == "" {
			continue
		}
		keys++
		word, known := systems.AnswersOf(b.Key.Path, strings.Trim(b.Text, `"'`), named)
		if !known || found != "" && word != "" && found != word {
			return ""
		}
		if word != "" {
			found = word
		}
	}
	if found == "" && keys > 0 { // the keys do not determine the objective
		found = named
	}
	return r.Trainer().AnswerLoops[found]
}

// answersClass matches the creation of a TRL trainer that is simulated.
var answersClass = pattern.New(`(?m)^[^#\n]*?\b(?:DPO|KTO|ORPO|CPO|GRPO|Reward)Trainer\(`, "Trainer(")

// followsAnswers reports whether the run is a readable Python program that creates one of TRL's simulated trainers.
func (r *Run) followsAnswers() bool {
	if r.Primary == nil || r.World() > 1 || r.trlMinor() < firstAnswersTRL {
		return false
	}
	d := r.Primary.Tree.Layers[0].Doc
	return d.Format() == doc.Python && answersClass.In(d.Text()) && importsTRL.In(d.Text())
}

// importsTRL matches the import of TRL's trainers.
var importsTRL = pattern.New(`(?m)^[ \t]*from[ \t]+trl[ \t.]`, "trl")

// namedObjective returns the word for an objective in the name of the file or its folders.
func (r *Run) namedObjective() string {
	for name := range upwards(r.Primary.File) {
		if word, does := systems.ObjectiveOf(name); does != "" {
			return word
		}
	}
	return ""
}

// settleAnswers fills in the settings that a loop that compares answers needs.
func (r *Run) settleAnswers(out map[string]any, loop string) {
	out["loop"] = loop
	delete(out, "loss")
	prompt, completion := r.answerNumber("max_prompt_length"), r.answerNumber("max_completion_length")
	seq, _ := out["seq"].(float64)
	switch {
	case loop == setup.RewardLoop:
		return
	case loop == setup.GRPOLoop && prompt > 0 && completion > 0:
		out["seq"], out["completion"] = prompt+completion, completion
	case completion > 0 && completion < seq:
		out["completion"] = completion
	case prompt > 0 && prompt < seq:
		out["completion"] = seq - prompt
	}
	switch {
	case loop == setup.GRPOLoop && r.answerNumber("beta") > 0 && out["lora"] != nil:
		out["reference"] = setup.ReferenceAdapters
	case loop == setup.GRPOLoop && r.answerNumber("beta") > 0:
		out["reference"] = setup.ReferenceModel
	case (loop == setup.DPOLoop || loop == setup.KTOLoop) && r.answerSwitch("precompute_ref_log_probs"):
		out["reference"] = setup.ReferenceBefore
	}
}

// answerKey returns the binding of a key that only trainers that compare answers have.
func (r *Run) answerKey(name string) (b projects.Bound, ok bool) {
	for _, b := range r.BindingsOf("refused") {
		if b.Key.Path == name {
			return b, true
		}
	}
	return b, false
}

// answerNumber returns the value of an answerKey as a number, or 0.
func (r *Run) answerNumber(name string) float64 {
	b, _ := r.answerKey(name)
	n, _ := systems.AsNumber(b.Place.Value)
	return n
}

// answerSwitch reports whether an answerKey is on.
func (r *Run) answerSwitch(name string) bool {
	b, ok := r.answerKey(name)
	on, isBool := systems.AsBool(b.Place.Value)
	return ok && isBool && on
}
