// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// The simulation covers one model and one loss over the tokens of each sample. Other objectives need more:
// pairs of answers, a frozen reference, a critic, sampling. The tables list the keys of known systems; this
// file relies on words that files, programs and classes have in common.

// otherObjective lists the signs that a run trains for something other than a loss over tokens. If a file
// names its objective, that is trusted.
func (r *Run) otherObjective() []Missing {
	for _, s := range r.SourcesRead() {
		if m := r.otherPlatform(s); m != nil {
			return []Missing{*m}
		}
	}
	if r.namesTokens() {
		return nil
	}
	if r.followsAnswers() || r.followsSentences() {
		return nil
	}
	for _, look := range []func(*projects.Source) *Missing{otherProgram, r.otherClass, otherKey, r.bothDirections, onlyPredicts} {
		for _, s := range r.SourcesRead() {
			if m := look(s); m != nil {
				return []Missing{*m}
			}
		}
	}
	return r.otherName()
}

// namesTokens reports whether a file names a loss over tokens as its objective.
func (r *Run) namesTokens() bool {
	if slices.ContainsFunc(r.BindingsOf("refused"), saysTokens) {
		return true
	}
	for _, s := range r.SourcesRead() {
		for _, v := range s.OwnValues() {
			if word, does := systems.ObjectiveOf(textOf(v)); does == "" && word != "" && systems.NamesMethod(sectionAndKey(v.Parts)) {
				return true
			}
		}
	}
	return false
}

// saysTokens reports whether a key names an objective with a loss over tokens.
func saysTokens(b projects.Bound) bool {
	text, _ := b.Place.Value.Data.(string)
	_, known := b.Key.Understand(text)
	return b.Key.NamesObjective() && known && text != "" && b.Value == ""
}

// refusedFor returns the refusal of a run because of a line in a file.
func refusedFor(where, what, does string) *Missing {
	return &Missing{Training, refusal(where, what, does)}
}

// refusedIn returns the refusal of a run because of code in a program.
func refusedIn(p projects.ExecutedProgram, offset int, what, does string) *Missing {
	c, undecided := p.Undecided(offset)
	if !undecided {
		return refusedFor(p.LineOf(offset), what, does)
	}
	return refusedFor(p.LineOf(offset), what, fmt.Sprintf("%s; whether it is used depends on %s (line %d), which is not known", does, strings.Join(c.Names, ", "), c.Line))
}

// These match the classes that Python code creates or passes to a parser.
var (
	madeClass   = pattern.New(`(?m)^[^#\n]*?\b([A-Za-z]\w*(?:Trainer|Config|Arguments|Args|Loss|Model))\(`, "Trainer(", "Config(", "Arguments(", "Args(", "Loss(", "Model(")
	imported    = pattern.New(`(?m)^[ \t]*(?:from|import)[ \t]+(setfit|pyreft|pyvene)\b`, "setfit", "pyreft", "pyvene") // libraries with one objective, whose classes have common names
	parsedClass = pattern.New(`(?m)^[^#\n]*\b(?:TrlParser|HfArgumentParser)\(\s*(?:\w+\s*=\s*)?[(\[]?([^)\]]*)`, "TrlParser(", "HfArgumentParser(")
)

// otherClass returns the refusal of a run whose program creates a class of another objective. It also checks the
// program that a shell script starts.
func (r *Run) otherClass(s *projects.Source) *Missing {
	for _, p := range r.ExecutedPrograms(s) {
		if m := classIn(p, p.Text); m == nil {
			continue // the usual case, in which it does not matter what is executed
		}
		if m := classIn(p, p.Code()); m != nil {
			return m
		}
	}
	return nil
}

// otherPlatform returns the refusal of a run whose program does not train on a GPU with PyTorch, whatever its objective.
func (r *Run) otherPlatform(s *projects.Source) *Missing {
	for _, p := range r.ExecutedPrograms(s) {
		if !platform.In(p.Text) {
			continue
		}
		if found := platform.Index(p.Code()); found != nil {
			name := p.Code()[found[2]:found[3]]
			return refusedIn(p, found[2], "import "+name, systems.Platform(name))
		}
	}
	return nil
}

// platform matches the import of another platform at the beginning of a line; many programs import one if it is there.
var platform = pattern.New(`(?m)^(?:from|import)[ \t]+(flax|jax|optimum\.habana|optimum\.neuron|optimum\.tpu|mindspore|paddle)\b`, "flax", "jax", "optimum.", "mindspore", "paddle")

// classIn returns the refusal for the first class of another objective in a program's text, or in a part of it.
func classIn(p projects.ExecutedProgram, text string) *Missing {
	for from := 0; ; {
		found := madeClass.Index(text[from:])
		if found == nil {
			break
		}
		name := text[from+found[2] : from+found[3]]
		if _, does := systems.ObjectiveOf(name); does != "" && !writesOut(text, name) {
			return refusedIn(p, from+found[2], name, does)
		}
		from += found[3]
	}
	if found := imported.Index(text); found != nil {
		_, does := systems.ObjectiveOf(text[found[2]:found[3]])
		return refusedIn(p, found[2], text[found[2]:found[3]], does)
	}
	if found := parsedClass.Index(text); found != nil {
		for name := range strings.FieldsFuncSeq(text[found[2]:found[3]], func(c rune) bool { return strings.ContainsRune(", \n\t", c) }) {
			if _, does := systems.ObjectiveOf(name); does != "" {
				return refusedIn(p, found[2], name, does)
			}
		}
	}
	return nil
}

// writesOut reports whether a program defines a class itself and has its own loop, in which case all that the class does is
// in code that can be followed.
func writesOut(text, class string) bool {
	return (strings.Contains(text, "class "+class+"(") || strings.Contains(text, "class "+class+":")) && writesOwnLoop(text)
}

// writesOwnLoop reports whether a program has its own loop, in which case its code says what is trained, and its name does not
// matter.
func writesOwnLoop(text string) bool { return ownLoop.In(text) }

// ownLoop matches the backward pass of a loop that a program writes itself.
var ownLoop = pattern.New(`(?m)^[^#\n]*(?:\.backward\(|autograd\.grad\()`, ".backward(", "autograd.grad(")

// otherProgram returns the refusal of a script that starts a program for another objective, by the name of the
// program or else of its folders.
func otherProgram(s *projects.Source) *Missing {
	if s.System.Commands == nil {
		return nil
	}
	for _, p := range s.Started() {
		for name := range upwards(p.Name) {
			word, does := systems.ObjectiveOfProgram(name)
			if does != "" {
				return refusedFor(fmt.Sprintf("%s:%d", s.File, p.Line), p.Name, does)
			}
			if word != "" {
				break
			}
		}
	}
	return nil
}

// trainsNothing returns the refusal of a file that only uses a model: a script that starts other programs, or a file
// without the section that its system needs for training.
func (r *Run) trainsNothing() []Missing {
	if r.Primary == nil {
		return nil
	}
	if p, only := r.Primary.OnlyUses(); only && r.Primary.System.Commands != nil {
		return []Missing{{Training, fmt.Sprintf("%s:%d: %s does not train, judging by its name; only training runs are estimated", r.Primary.File, p.Line, p.Name)}}
	}
	if needs := r.Primary.System.TrainsWith; needs != "" && !r.Primary.Tree.Has(strings.Split(needs, ".")) {
		return []Missing{{Training, fmt.Sprintf("%s has no %s, so it does not train; only training runs are estimated", r.Primary.File, needs)}}
	}
	return r.noEpochs()
}

// noEpochs returns the refusal of a run for 0 epochs, which only evaluates, converts or saves a model.
func (r *Run) noEpochs() []Missing {
	var none *Missing
	for _, s := range r.SourcesRead() {
		for _, v := range s.OwnValues() {
			name, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(v.Path[len(v.Path)-1], "-"), "-", "_"), "#")
			n, is := systems.AsNumber(v.Value)
			switch {
			case !is:
			case n > 0 && (name == "max_steps" || name == "max_train_steps" || name == "num_train_epochs"):
				return nil
			case n == 0 && name == "num_train_epochs":
				none = &Missing{Training, fmt.Sprintf("%s:%d: %s is 0, so the run does not train; only training runs are estimated", s.File, v.Value.Line, v.Path)}
			}
		}
	}
	if none == nil {
		return nil
	}
	return []Missing{*none}
}

// upwards yields the last element of a path, then its folders' names.
func upwards(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name != "" && name != "." && name != "/" {
			if base := path.Base(name); base != ".." && !yield(base) {
				return
			}
			name = path.Dir(name)
		}
	}
}

// isOn reports whether a value turns something on: a non-empty map or list, true, a number above 0, or text.
func isOn(v doc.Value) bool {
	if v.Kind == doc.Map || v.Kind == doc.List {
		return v.Len+len(v.Keys) > 0
	}
	if n, ok := systems.AsNumber(v); ok {
		return n > 0
	}
	if v.Data == "" {
		return false
	}
	if on, ok := systems.AsBool(v); ok {
		return on
	}
	text := strings.ToLower(textOf(tree.Value{Value: v}))
	return text != "" && text != "none" && text != "null" && text != "no"
}

// textOf returns a value as text, or "" if it is not text.
func textOf(v tree.Value) string {
	text, _ := v.Value.Data.(string)
	return text
}

// sectionAndKey returns the last two steps of a path.
func sectionAndKey(parts []string) string { return strings.Join(parts[max(len(parts)-2, 0):], ".") }

// otherKey returns the refusal of a file with a key, or a section, that only another objective has, or with a
// value that names another objective.
func otherKey(s *projects.Source) *Missing {
	for _, v := range s.OwnValues() {
		if n := len(v.Path); n > 1 && systems.NamesData(v.Path[n-2]) {
			continue // a data set, whose name does not tell what is trained on it
		}
		where := fmt.Sprintf("%s:%d", s.File, v.Value.Line)
		if does := systems.ObjectiveOfKey(v.Parts[len(v.Parts)-1]); does != "" && isOn(v.Value) {
			return refusedFor(where, v.Path.String(), "belongs to a run that "+does)
		}
		if does := systems.ObjectiveOfValue(sectionAndKey(v.Parts), textOf(v)); does != "" {
			return refusedFor(where, v.Path.String()+" "+textOf(v), does)
		}
	}
	return nil
}

// bothDirections returns the refusal of a file that trains a decoder on masked tokens, or lets its tokens attend to later ones.
// Both need layers of the program's own.
func (r *Run) bothDirections(s *projects.Source) *Missing {
	name, _ := r.Value("model").(string)
	if name == "" || !setup.Trains(r.ModelName(name), "causal-lm") {
		return nil
	}
	for _, v := range s.OwnValues() {
		does := ""
		switch strings.ReplaceAll(v.Parts[len(v.Parts)-1], "-", "_") {
		case "mlm_probability":
			does = "belongs to a run that predicts masked tokens, for which this model would need bidirectional attention"
		case "bidirectional":
			does = "lets tokens attend to later ones, which needs the program's own layers"
		}
		if does != "" && isOn(v.Value) {
			return refusedFor(fmt.Sprintf("%s:%d", s.File, v.Value.Line), strings.TrimSpace(v.Path.String()), does)
		}
	}
	return nil
}

// otherTask returns what is missing if a file names a task for which the model gets another head: the head, or a
// recording.
func (r *Run) otherTask() []Missing {
	name, _ := r.Value("model").(string)
	ownGroups := len(r.BindingsOf("positives"))+len(r.BindingsOf("negatives")) > 0
	if ownGroups || name != "" && setup.Trains(r.ModelName(name), "image-classification") {
		return nil
	}
	for _, s := range r.SourcesRead() {
		for _, v := range s.OwnValues() {
			does := systems.HeadOfTask(sectionAndKey(v.Parts), textOf(v))
			if name := v.Parts[len(v.Parts)-1]; name == "num_labels" && isOn(v.Value) {
				does = systems.Classifies
			}
			if does != "" {
				return []Missing{{"model.head", fmt.Sprintf("%s:%d: %s: the run %s instead of predicting tokens; give its head with --head, or measure it: snug profile -- <your command>",
					s.File, v.Value.Line, strings.TrimSpace(v.Path.String()+" "+textOf(v)), does)}}
			}
		}
	}
	return nil
}

// onlyPredicts returns the refusal of a file that runs a model without training it.
func onlyPredicts(s *projects.Source) *Missing {
	var predicts, evaluates *tree.Value
	learns := false
	for _, v := range s.OwnValues() {
		switch v.Parts[len(v.Parts)-1] {
		case "do_train":
			if isOn(v.Value) {
				return nil
			}
			predicts = &v
		case "do_predict":
			if isOn(v.Value) {
				predicts = &v
			}
		case "do_eval":
			if isOn(v.Value) && s.System.Commands != nil { // configs for trainers without do_train have this key too
				evaluates = &v
			}
		case "learning_rate", "lr":
			learns = true
		}
	}
	if predicts == nil && !learns {
		predicts = evaluates
	}
	if predicts == nil {
		return nil
	}
	return refusedFor(fmt.Sprintf("%s:%d", s.File, predicts.Value.Line), strings.TrimSpace(predicts.Path.String()+" "+strings.TrimPrefix(predicts.Value.Text, predicts.Path.String())), "runs the model without training it")
}

// otherName returns the refusal of a run whose main file or folder is named after another objective, unless
// the file's system has a key for the objective or a program has its own trainer.
func (r *Run) otherName() []Missing {
	if r.Primary == nil || r.Trainer().Denoises || !r.Trainer().ByName && slices.ContainsFunc(r.Trainer().ForSetting("refused"), (*systems.Key).NamesObjective) {
		return nil
	}
	d := r.Primary.Tree.Layers[0].Doc
	if d.Format() == doc.Python && (trainsTokens.In(d.Text()) || writesOwnLoop(d.Text())) {
		return nil
	}
	for name := range upwards(r.Primary.File) {
		word, does := systems.ObjectiveOf(name)
		if does != "" {
			return []Missing{*refusedFor(r.Primary.File, "judging by its name ("+word+"), it", does)}
		}
		if word != "" || d.Format() == doc.Python && trains.In(d.Text()) {
			return nil
		}
	}
	return nil
}

// namedOtherwise returns the note that a run's output is named after another objective, which nothing else in the files
// shows.
func (r *Run) namedOtherwise() []string {
	if r.namesTokens() || r.answersLoop() != "" {
		return nil
	}
	for _, s := range r.SourcesRead() {
		for _, v := range s.OwnValues() {
			if !slices.Contains(outputNames, v.Parts[len(v.Parts)-1]) {
				continue
			}
			if word, does := systems.ObjectiveOf(path.Base(textOf(v))); does != "" {
				return []string{fmt.Sprintf("%s:%d: %s suggests %s, which %s; no other setting does, so a loss over tokens is assumed", s.File, v.Value.Line, v.Path, word, does)}
			}
		}
	}
	return nil
}

// outputNames are keys for the name of a run and its results.
var outputNames = []string{"output_dir", "run_name", "hub_model_id", "exp_name", "experiment_name", "wandb_name", "save_dir", "save_path", "output_path"}

// trainsTokens matches the trainer with a loss over tokens. trains also matches trainers whose loss depends on
// the model.
var (
	trainsTokens = pattern.New(`(?m)^[^#\n]*\bSFTTrainer\(`, "SFTTrainer(")
	trains       = pattern.New(`(?m)^[^#\n]*\b(?:Seq2Seq)?Trainer\(`, "Trainer(")
)
