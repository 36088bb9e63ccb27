// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// Some keys change what a run takes in ways that are not simulated. The tables list
// them beside the others, with what they do; here it becomes a sentence. What makes
// figures mean nothing is refused. What leaves them a bound is noted.

// Training is what is missing where the training is not of the kind that is
// estimated. A recording of the run has it.
const Training = "training"

// asWritten is a key with its value where the value is what matters.
func asWritten(b projects.Bound) string {
	if b.Key.Kind == systems.Word {
		return b.Path.String() + " " + strings.Trim(b.Text, `"'`)
	}
	return b.Path.String()
}

// refused is what no figure is given for.
func (r *Run) refused() []Missing {
	for _, b := range r.BindingsOf("refused") {
		if does, _ := b.Value.(string); does != "" {
			return []Missing{{Training, refusal(b.Where(), asWritten(b), does)}}
		}
	}
	return r.otherTrainer()
}

// refusal is the sentence about it.
func refusal(where, what, does string) string {
	return fmt.Sprintf("%s: %s %s; this is not estimated; measure it: snug profile -- <your command>", where, what, does)
}

// noted is what the figures leave out by the word of a file.
func (r *Run) noted() []string {
	var out []string
	for _, b := range r.BindingsOf("noted") {
		if does, _ := b.Value.(string); does != "" {
			out = append(out, fmt.Sprintf("%s: %s %s; %s", b.Where(), asWritten(b), does, b.Key.Then))
		}
	}
	return append(out, r.notedByDefault()...)
}

// notedByDefault is what a system does that its files do not turn off.
func (r *Run) notedByDefault() []string {
	var out []string
	if r.Primary == nil {
		return nil
	}
	for _, k := range r.Trainer().ForSetting("noted") {
		said := slices.ContainsFunc(r.BindingsOf("noted"), func(b projects.Bound) bool { return b.Key.Path == k.Path })
		if does, _ := projects.Default(k, 1).(string); does != "" && !said {
			by := map[bool]string{true: "on", false: k.Default}[k.Kind == systems.Switch]
			out = append(out, fmt.Sprintf("%s: %s is %s by default and %s; %s", r.Primary.File, k.Path, by, does, k.Then))
		}
	}
	return out
}
