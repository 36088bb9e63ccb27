// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// Warnings lists what a run's figures do not include, short of refusing the run. run is the setup from the
// project's files with the user's own values.
func (r *Run) Warnings(run map[string]any) []string {
	out := append(r.typos(), r.missingFiles(run)...)
	if r.Unsearched != "" {
		out = append(out, r.Unsearched)
	}
	for _, s := range r.SourcesRead() {
		out = append(out, s.CommandNotes()...)
	}
	out = append(out, r.unknownSpread()...)
	out = append(out, r.firstFSDP()...)
	out = append(out, r.noted()...)
	out = append(out, r.namedOtherwise()...)
	out = append(out, r.answersByName()...)
	out = append(out, r.methodInName(run, r.unread(run))...)
	out = append(out, r.checkpointedTwice()...)
	out = append(out, r.ownLayers()...)
	out = append(out, r.castsWithoutFlash()...)
	out = append(out, r.olderLoss(run)...)
	out = append(out, r.otherHead(run)...)
	out = append(out, r.assumedBlock(run)...)
	out = append(out, r.attendsBySwitch(run)...)
	out = append(out, r.largerEvaluation(run)...)
	out = append(out, r.unknownTokens()...)
	out = append(out, r.unusedTarget()...)
	out = append(out, r.unknownDefaults()...)
	if r.Flagged != "" && r.Primary != nil {
		out = append(out, fmt.Sprintf("%s: the program takes its settings from flags; the flags in %s are used", r.Flagged, r.Primary.File))
	}
	if d := r.Documented; d != nil {
		which := "the command"
		if d.Others > 0 {
			which = fmt.Sprintf("the first of %d commands", d.Others+1)
		}
		out = append(out, fmt.Sprintf("%s: the program takes its settings from flags; %s in its documentation (%s:%d) is used; for another, name the shell script that starts it: --config-path run.sh", d.Program, which, d.File, d.Line))
	}
	if r.Defaults != "" && (r.Primary == nil || r.Primary.File == r.Defaults) {
		out = append(out, fmt.Sprintf("%s: the program takes its settings from flags, which are counted with their defaults; for other values, name the shell script that starts it: --config-path run.sh", r.Defaults))
	}
	out = append(out, r.quantizationWarnings(run)...)
	out = append(out, r.quantizedBySwitch(run)...)
	out = append(out, r.computedSettings(run)...)
	out = append(out, r.unknownElsewhere()...)
	out = append(out, r.ambiguousSettings()...)
	out = append(out, r.dividedBatch(run)...)
	out = append(out, r.otherTotal(run)...)
	out = append(out, r.castsToDefault(run)...)
	out = append(out, r.severalEncoders(run)...)
	out = append(out, r.assumedImages(run)...)
	return append(out, r.uncountedAdapters(run)...)
}

// ambiguousSettings returns the warnings about settings for which several keys qualify, so that none is used.
func (r *Run) ambiguousSettings() (out []string) {
	for _, setting := range []string{"accumulation", "precision", "autocast", "optimizer", "checkpointing"} {
		if which := r.Ambiguous(setting); which != "" && r.Primary != nil && r.Primary.System.Commands != nil {
			out = append(out, which+"; until then, none is used")
		}
	}
	return out
}

// unknownSpread returns the warning that files shard a run without specifying the number of GPUs.
func (r *Run) unknownSpread() []string {
	kind, _ := r.Value("dist.kind").(string)
	known := r.World() > 1 || r.gpus > 0 || len(r.BindingsOf("dist.world")) > 0
	of := r.BindingsOf("dist.kind")
	if known || kind == "" || kind == "ddp" || len(of) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: no file sets how many GPUs %s uses; one GPU, without %[2]s, is assumed; give --gpus N", of[0].Where(), kind)}
}

// ownLayers returns the warning that a trainer replaces PEFT's layers with its own kernels.
func (r *Run) ownLayers() []string {
	kernels := r.Trainer().LoRAKernels
	if kernels == "" || !r.adapts() {
		return nil
	}
	keys := r.BindingsOf("kernels")
	if len(keys) > 0 && !slices.ContainsFunc(keys, func(b projects.Bound) bool { return b.Value == true }) {
		return nil
	}
	if b := r.quantizing(); b != nil && b.Value == systems.EightBit {
		return nil // the kernels do not support 8-bit weights
	}
	return []string{fmt.Sprintf("%s: PEFT's layers are counted; %s keep less for backward", r.Primary.File, kernels)}
}

// castsWithoutFlash returns the warning that a trainer keeps some weights in float32 besides the 16-bit
// ones, unless attention or adapters need one type everywhere.
func (r *Run) castsWithoutFlash() []string {
	if !r.Trainer().CastsWithoutFlash || r.adapts() {
		return nil
	}
	held, _ := r.Fields()["weights"].(string)
	if held == "" || r.deepspeed() || r.shardsWeights() || r.ValueOrDefault("attention") == "flash" {
		return nil
	}
	return []string{fmt.Sprintf("%s: without flash attention %s casts embeddings, head and norms to float32; they are counted in %s, with gradients and states", r.Primary.File, r.Trainer().Title, held)}
}

// unknownElsewhere returns the warnings about unknown values in scripts that no flag of snug can set.
func (r *Run) unknownElsewhere() []string {
	var out []string
	for _, b := range r.Bound {
		if why := b.Place.Value.Why; why != "" && b.Value == nil && !systems.IsSetting(b.Setting) {
			out = append(out, fmt.Sprintf("%s: %s is not known (%s); it is not counted", b.Where(), b.Path, why))
		}
	}
	return out
}

// computedSettings lists settings that are computed at run time, and what is counted for them unless the user
// gives a value.
func (r *Run) computedSettings(run map[string]any) []string {
	var out []string
	fields := r.Fields()
	for _, b := range r.Bound {
		computed := b.Place.Computed != "" || projects.IsComputed(b.Place.Value) || projects.IsMade(b.Place.Value)
		counted := field(fields, b.Setting)
		flag := flagOf(b.Setting)
		if b.Value != nil || b.Unknown != "" || !computed || flag == "" || r.loopComputes(b.Setting, fields) || !reflect.DeepEqual(counted, field(run, b.Setting)) {
			continue
		}
		then := "it is ignored"
		if counted != nil {
			then = fmt.Sprintf("%v is assumed", counted)
		}
		what := fmt.Sprintf("is %s, which is computed at run time", shortened(b.Text))
		if b.Place.Value.Why != "" {
			what = "is not known (" + b.Place.Value.Why + ")"
		}
		out = append(out, fmt.Sprintf("%s: %s %s; %s; set it with --%s", b.Where(), b.Path, what, then, flag))
	}
	return out
}

// loopComputes reports whether a setting is computed in the script whose loop is followed, which then shows its value.
func (r *Run) loopComputes(setting string, fields map[string]any) bool {
	return (setting == "accumulation" || setting == "precision") && r.computes(setting) && fields["loop"] != nil
}

// dividedBatch returns the warning that a program divides its batch, but the figures are for the number as
// written. There is none if the user gives a batch.
func (r *Run) dividedBatch(run map[string]any) []string {
	for _, b := range r.BindingsOf("batch") {
		if by := b.DividedBy(); by != "" && fmt.Sprint(run["batch"]) == fmt.Sprint(b.Value) {
			return []string{fmt.Sprintf("%s: the program divides %s by %s; if the quotient is the batch of one forward pass, give it with --batch", b.Where(), b.Path, by)}
		}
	}
	return nil
}

// otherTotal returns the warning that a total batch in the files does not match the other settings, unless the
// user changes those.
func (r *Run) otherTotal(run map[string]any) []string {
	batch, steps := r.Whole("batch"), r.Accumulation()
	if batch == 0 || fmt.Sprint(run["batch"]) != fmt.Sprint(batch) || fmt.Sprint(run["accumulation"]) != fmt.Sprint(steps) {
		return nil
	}
	for _, b := range r.BindingsOf("effective") {
		if total, ok := b.Value.(int); ok && total/(batch*steps*r.World()) != 1 {
			return []string{fmt.Sprintf("%s: %s is %d, but the other settings make %d samples per step (%d × %d over %d GPUs); the figures use those",
				b.Where(), b.Path, total, batch*steps*r.World(), batch, steps, r.World())}
		}
	}
	return nil
}

// field returns the value of a setting in a setup, such as lora.rank.
func field(fields map[string]any, setting string) any {
	outer, inner, nested := strings.Cut(setting, ".")
	if !nested {
		return fields[setting]
	}
	in, _ := fields[outer].(map[string]any)
	return in[inner]
}

// flagOf returns the flag for a setting, or "" if a note need not mention it: batch and model are required
// anyway, and workers use no GPU memory.
func flagOf(setting string) string {
	switch setting {
	case "model", "batch", "workers", "effective":
		return ""
	}
	if !systems.IsSetting(setting) {
		return ""
	}
	return setup.FlagOf(setting)
}

// shortened cuts a value so that it fits on a line.
func shortened(text string) string {
	line, _, cut := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > 32 {
		line, cut = string(runes[:32]), true
	}
	if cut {
		return line + "…"
	}
	return line
}
