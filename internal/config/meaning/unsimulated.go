// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// Some keys change the memory of a run in ways that are not simulated. The tables list these keys and what
// they do; this file turns them into messages. A run is refused if its figures would be meaningless. If the
// figures are still a bound, there is a note.

// Training is Missing.Setting for a kind of training that cannot be estimated. A recording of the run
// includes it.
const Training = "training"

// asWritten returns a key, with its value if the value matters.
func asWritten(b projects.Bound) string {
	if b.Key.Kind == systems.Word {
		return b.Path.String() + " " + strings.Trim(b.Text, `"'`)
	}
	return b.Path.String()
}

// refused lists the keys that rule out any figures.
func (r *Run) refused() []Missing {
	if r.answersLoop() != "" {
		return append(r.answersAboutImages(), r.ownKernels()...)
	}
	if m := r.otherDenoising(); m != nil {
		return m
	}
	for _, b := range r.refusedKeys() {
		if does, _ := b.Value.(string); does != "" {
			return []Missing{{Training, refusal(b.Where(), asWritten(b), does)}}
		}
	}
	if m := r.refusedCommand(); m != nil {
		return m
	}
	if nothing := r.trainsNothing(); nothing != nil {
		return nothing
	}
	if other := r.otherObjective(); other != nil {
		return other
	}
	return r.ownKernels()
}

// refusedKeys returns the refused keys of the files. Objectives that can be simulated come last, so that an error names
// the key that prevents it.
func (r *Run) refusedKeys() []projects.Bound {
	last := func(b projects.Bound) int {
		if b.Key.NamesObjective() && r.Trainer().AnswerLoops[strings.Trim(b.Text, `"'`)] != "" {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(r.BindingsOf("refused")), func(a, b projects.Bound) int { return last(a) - last(b) })
}

// refusedCommand lists a script's command that is not simulated, or that splits a model over several GPUs per
// process.
func (r *Run) refusedCommand() []Missing {
	for _, s := range r.SourcesRead() {
		if s.System.Commands == nil {
			continue
		}
		d := s.Tree.Layers[0].Doc
		for _, c := range s.System.Commands.Refuses {
			if at := c.Text.Index(d.Text()); at != nil {
				return []Missing{{Training, refusal(s.LineOf(d, at[2]), projects.Submatch(d, at, 1), c.Does)}}
			}
		}
	}
	for _, b := range r.BindingsOf("visible") {
		if seen, _ := b.Value.([]string); r.Trainer().SplitsVisible && len(seen) >= 2*r.World() {
			return []Missing{{Training, refusal(b.Where(), fmt.Sprintf("%s %s", b.Path, strings.Join(seen, ",")),
				fmt.Sprintf("gives each process %d GPUs, over which the layers are split", len(seen)/r.World()))}}
		}
	}
	return nil
}

// refusal returns the message for a refused key.
func refusal(where, what, does string) string {
	return fmt.Sprintf("%s: %s %s; this is not estimated; measure it: snug profile -- <your command>", where, what, does)
}

// noted lists what the figures do not include because of a key in a file.
func (r *Run) noted() []string {
	var out []string
	for _, b := range r.BindingsOf("noted") {
		if does, _ := b.Value.(string); does != "" && r.concerns(b.Key) && !hasKey(b.Source, b.Key.Without) {
			out = append(out, fmt.Sprintf("%s: %s %s; %s", b.Where(), asWritten(b), does, b.Key.Then))
		}
	}
	return append(out, r.notedByDefault()...)
}

// hasKey reports whether a source has a key with that name.
func hasKey(s *projects.Source, name string) bool {
	for range s.Tree.Index().Named(name) {
		return true
	}
	return false
}

// concerns reports whether a noted key applies to the run's loop.
func (r *Run) concerns(k *systems.Key) bool {
	if k.Within == "" && k.Unless == "" {
		return true
	}
	loop, _ := r.Fields()["loop"].(string)
	return (k.Within == "" || k.Within == loop) && (k.Unless == "" || k.Unless != loop)
}

// notedByDefault lists what a system does by default that the figures do not include, unless its files
// turn it off.
func (r *Run) notedByDefault() []string {
	var out []string
	if r.Primary == nil {
		return nil
	}
	for _, k := range r.Trainer().ForSetting("noted") {
		isSet := slices.ContainsFunc(r.BindingsOf("noted"), func(b projects.Bound) bool { return b.Key.Path == k.Path })
		if does, _ := projects.Default(k, 1).(string); does != "" && !isSet {
			if k.Path == "" {
				out = append(out, fmt.Sprintf("%s: %s %s; %s", r.Primary.File, r.Trainer().Title, does, k.Then))
				continue
			}
			by := map[bool]string{true: "on", false: k.Default}[k.Kind == systems.Switch]
			out = append(out, fmt.Sprintf("%s: %s is %s by default and %s; %s", r.Primary.File, strings.TrimPrefix(k.Path, "**."), by, does, k.Then))
		}
	}
	return out
}
