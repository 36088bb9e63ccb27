// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"slices"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// A script may start several programs: to prepare data, train, merge adapters or evaluate. Only the flags of the
// command that trains are settings of the run.

// trainings returns the training commands of a script, in script order: those with a flag specific to training, except
// those whose program name indicates another task. If no command has such a flag, settings may come from environment
// variables. It returns none if the script starts no training.
func trainings(a *systems.System, t tree.Tree) []doc.Command {
	commands := t.Layers[0].Doc.Commands()
	if len(commands) == 0 {
		return nil
	}
	tells := tellingKeys(a, t)
	by := func(keys func(doc.Command) map[string]bool) []doc.Command {
		return slices.DeleteFunc(slices.Clone(commands), func(c doc.Command) bool {
			for key := range keys(c) {
				if tells[key] {
					return false
				}
			}
			return true
		})
	}
	out := by(func(c doc.Command) map[string]bool { return c.Keys })
	if len(out) == 0 {
		out = by(func(c doc.Command) map[string]bool { return c.Environment })
		out = slices.DeleteFunc(out, func(c doc.Command) bool { return !startsProgram(c) })
	}
	if trains := slices.DeleteFunc(slices.Clone(out), doesNotTrain); len(trains) > 0 {
		return trains
	}
	return out
}

// startsProgram reports whether a command starts a program or another script, rather than a tool such as mkdir.
func startsProgram(c doc.Command) bool {
	return slices.ContainsFunc(c.Words, func(w string) bool {
		format, known := doc.FormatOf(w, nil)
		return known && (format == doc.Python || format == doc.Shell || format == doc.YAML)
	})
}

// tellingKeys returns the keys of a script that mark a command as training.
func tellingKeys(a *systems.System, t tree.Tree) map[string]bool {
	x, keys := t.Index(), a.Keys().All
	telling := slices.Concat(systems.DistinctiveSettings(), a.AlsoDistinctive)
	out := map[string]bool{}
	for _, h := range hits(a, t) {
		v := x.Values[h.value]
		if h.key >= 0 && slices.Contains(telling, keys[h.key].Setting) && fits(&keys[h.key], v.Value) {
			out[v.Path[0]] = true
		}
	}
	return out
}

// doesNotTrain reports whether a command's program name indicates a task other than training.
func doesNotTrain(c doc.Command) bool { return programOf(c).trainsNothing() }

// inCommand returns a function that reports whether the value of a key (nil for any key) belongs to the script's
// first training command. If there is no training command, or the file is not a script, every value does.
func inCommand(a *systems.System, t tree.Tree) func(k *systems.Key, p doc.Path) bool {
	if a.Commands == nil {
		return func(*systems.Key, doc.Path) bool { return true }
	}
	of := trainings(a, t)
	if len(of) == 0 {
		return func(*systems.Key, doc.Path) bool { return true }
	}
	return func(k *systems.Key, p doc.Path) bool {
		if of[0].Keys[p[0]] || of[0].Environment[p[0]] {
			return true
		}
		return of[0].Passes[p[0]] && k != nil && systems.IsSetting(k.Setting) // a flag's name is more reliable than its variable's name
	}
}

// CommandNotes returns notes on a script's commands: which one is read, and what is unknown about it.
func (s *Source) CommandNotes() []string {
	if s.System.Commands == nil {
		return nil
	}
	of := trainings(s.System, s.Tree)
	if len(of) == 0 {
		return nil
	}
	var out []string
	if len(of) > 1 {
		var lines []string
		for _, c := range of[1:] {
			lines = append(lines, fmt.Sprint(c.Line))
		}
		word := "line"
		if len(lines) > 1 {
			word = "lines"
		}
		out = append(out, fmt.Sprintf("%s starts %d training runs; only the one at line %d is read, not those at %s %s", s.File, len(of), of[0].Line, word, Enumerate(lines)))
	}
	if of[0].Broken > 0 {
		out = append(out, fmt.Sprintf("%s:%d: a comment ends the command that begins on line %d, so the shell does not pass the flags from here on; snug counts them anyway", s.File, of[0].Broken, of[0].Line))
	}
	for _, u := range of[0].Unknown {
		out = append(out, fmt.Sprintf("%s:%d: %s may add flags, which are not counted: %s", s.File, of[0].Line, u.Text, u.Why))
	}
	return out
}
