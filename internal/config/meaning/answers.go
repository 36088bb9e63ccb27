// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// answersLoop returns the loop of a trainer that compares answers, determined from keys that only it has or from the
// names of the file and its folders; "" if the run trains on tokens or its loop is not simulated.
func (r *Run) answersLoop() string {
	if r.Primary == nil || len(r.Trainer().AnswerLoops) == 0 {
		return ""
	}
	if loop := r.comparingLoop(); !r.shards() || r.simulatesSharded(loop) {
		return loop
	}
	return ""
}

// simulatesSharded reports whether a loop that compares answers is simulated with the files' kind of sharding.
func (r *Run) simulatesSharded(loop string) bool {
	kind, _ := r.ValueOrDefault("dist.kind").(string)
	return setup.SimulatedOver(loop, r.fsdpKind(kind))
}

// comparingLoop is answersLoop on one GPU or with DDP.
func (r *Run) comparingLoop() string {
	if r.statesObjective() {
		return r.statedLoop()
	}
	if r.Primary.System.For != nil || r.Primary.System.Commands != nil || r.namesTokens() {
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
	if found == "" {
		found = r.namedFile()
	}
	if loop := r.Trainer().AnswerLoops[found]; setup.SimulatesTRL(loop, r.trlRelease()) {
		return loop
	}
	return ""
}

// trlRelease returns the release of the installed TRL, such as 109 for 1.9, or the table's if TRL is not installed.
func (r *Run) trlRelease() int { return setup.Versions{TRL: r.trl}.TRLRelease() }

// settleTRL fills in the TRL release if it is one whose DPO is simulated differently.
func (r *Run) settleTRL(out map[string]any, loop string) {
	version := cmp.Or(r.trl, r.Trainer().AnswersTRL)
	if !setup.LoopDependsOnTRL(loop) || version == "" || (setup.Versions{TRL: version}).TRLRelease() >= setup.TRLLossRelease {
		return
	}
	setup.Put(out, "versions.trl", version)
}

// shards reports whether the run uses several GPUs with anything other than DDP.
func (r *Run) shards() bool {
	kind, _ := r.ValueOrDefault("dist.kind").(string)
	return r.World() > 1 && kind != "" && kind != setup.DDP
}

// statesObjective reports whether the trainer has a key for the objective.
func (r *Run) statesObjective() bool {
	return slices.ContainsFunc(r.Trainer().ForSetting("refused"), (*systems.Key).NamesObjective)
}

// statedLoop returns the loop for the objective in the trainer's own key; "" if the run trains on tokens, if its loop
// is not simulated, or if the files contain another key that is not simulated.
func (r *Run) statedLoop() string {
	loop := ""
	for _, b := range r.BindingsOf("refused") {
		does, _ := b.Value.(string)
		word := strings.Trim(b.Text, `"'`)
		switch {
		case does == "":
		case b.Key.NamesObjective():
			loop = r.Trainer().AnswerLoops[word]
		case !slices.Contains(r.Trainer().AnswerKeys, b.Key.Path) || word != r.Value("model"):
			return ""
		}
	}
	return loop
}

// answersClass matches the creation of a TRL trainer that is simulated.
var answersClass = pattern.New(`(?m)^[^#\n]*?\b(?:DPO|KTO|ORPO|CPO|GRPO|Reward)Trainer\(`, "Trainer(")

// followsAnswers reports whether the run is a readable Python program that creates one of TRL's simulated trainers.
func (r *Run) followsAnswers() bool {
	if r.Primary == nil || r.World() > 1 {
		return false
	}
	d := r.Primary.Tree.Layers[0].Doc
	if d.Format() != doc.Python || !answersClass.In(d.Text()) || !importsTRL.In(d.Text()) {
		return false
	}
	release := r.trlRelease()
	return release >= setup.TRLLossRelease || setup.SimulatesTRL(setup.DPOLoop, release) && !laterClass.In(d.Text())
}

// laterClass matches the creation of a TRL trainer that is simulated only for setup.TRLLossRelease and later.
var laterClass = pattern.New(`(?m)^[^#\n]*?\b(?:KTO|ORPO|CPO|GRPO|Reward)Trainer\(`, "Trainer(")

// importsTRL matches the import of TRL's trainers.
var importsTRL = pattern.New(`(?m)^[ \t]*from[ \t]+trl[ \t.]`, "trl")

// namedFile returns the word for an objective in the file's own name; "" if only a folder is named so.
func (r *Run) namedFile() string {
	word, does := systems.ObjectiveOf(path.Base(r.Primary.File))
	if does == "" {
		return ""
	}
	return word
}

// answersByName returns the note that only the file's name shows that the run compares answers.
func (r *Run) answersByName() []string {
	loop := r.answersLoop()
	if loop == "" || r.statesObjective() || slices.ContainsFunc(r.BindingsOf("refused"), func(b projects.Bound) bool { return b.Value != nil && b.Value != "" }) {
		return nil
	}
	_, does := systems.ObjectiveOf(path.Base(r.Primary.File))
	return []string{fmt.Sprintf("judging by its name, %s %s (loop %s); if it trains on tokens, give --loop %s", r.Primary.File, does, loop, r.Trainer().Loop)}
}

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
	r.settleTRL(out, loop)
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
	case r.Value("reference") != nil:
		out["reference"] = r.Value("reference")
	case r.comparesItself():
		out["reference"] = setup.ReferenceModel
	case (loop == setup.DPOLoop || loop == setup.KTOLoop) && r.answerSwitch("precompute_ref_log_probs"):
		out["reference"] = setup.ReferenceBefore
	}
}

// comparesItself reports whether a key names the trained model itself as the reference. The reference is then a second
// copy of it.
func (r *Run) comparesItself() bool {
	return slices.ContainsFunc(r.Trainer().AnswerKeys, func(name string) bool {
		b, ok := r.answerKey(name)
		return ok && strings.Trim(b.Text, `"'`) == r.Value("model")
	})
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
