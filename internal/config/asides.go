// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
)

// Some keys change what a run takes in ways that are not simulated. The tables list
// them beside the others, with what they do; here it becomes a sentence. What makes
// figures mean nothing is refused. What leaves them a bound is noted.

// Training is what is missing where the training is not of the kind that is
// estimated. A recording of the run has it.
const Training = "training"

// asWritten is a key with its value where the value is what matters.
func asWritten(b bound) string {
	if b.key.Kind == Word {
		return b.Path.String() + " " + strings.Trim(b.Text, `"'`)
	}
	return b.Path.String()
}

// refused is what no figure is given for.
func (p *Run) refused() []Missing {
	for _, b := range p.of("refused") {
		if does, _ := b.Value.(string); does != "" {
			return []Missing{{Training, refusal(b.where(), asWritten(b), does)}}
		}
	}
	return p.otherTrainer()
}

// refusal is the sentence about it.
func refusal(where, what, does string) string {
	return fmt.Sprintf("%s: %s %s; that is not estimated, measure it: snug profile -- <your command>", where, what, does)
}

// noted is what the figures leave out by the word of a file.
func (p *Run) noted() []string {
	var out []string
	for _, b := range p.of("noted") {
		if does, _ := b.Value.(string); does != "" {
			out = append(out, fmt.Sprintf("%s: %s %s; %s", b.where(), asWritten(b), does, b.key.Then))
		}
	}
	return append(out, p.notedByDefault()...)
}

// notedByDefault is what a system does that its files do not turn off.
func (p *Run) notedByDefault() []string {
	var out []string
	if p.main == nil {
		return nil
	}
	for _, k := range p.system().forSetting("noted") {
		said := slices.ContainsFunc(p.of("noted"), func(b bound) bool { return b.key.Path == k.Path })
		if does, _ := keyDefault(k, 1).(string); does != "" && !said {
			by := map[bool]string{true: "on", false: k.Default}[k.Kind == Switch]
			out = append(out, fmt.Sprintf("%s: %s is %s by default and %s; %s", p.main.file, k.Path, by, does, k.Then))
		}
	}
	return out
}
