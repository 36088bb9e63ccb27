// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"slices"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// A script may start several programs: it prepares the data, trains, merges adapters, evaluates. Only the flags of
// the command that trains are settings of the run.

// trainings returns the commands of a script that train, in the order of the script: those with a telling flag,
// without those whose program, judging by its name, does something else. If no flag tells, a program may take its settings
// from the environment. It is empty if the script starts no training.
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
	if trains := slices.DeleteFunc(slices.Clone(out), trainsNot); len(trains) > 0 {
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
	telling := slices.Concat(systems.Telling(), a.AlsoTelling)
	out := map[string]bool{}
	for _, h := range hits(a, t) {
		v := x.Values[h.value]
		if h.key >= 0 && slices.Contains(telling, keys[h.key].Setting) && fits(&keys[h.key], v.Value) {
			out[v.Path[0]] = true
		}
	}
	return out
}

// trainsNot reports whether a command does something other than training, judging by its program's name.
func trainsNot(c doc.Command) bool { return programOf(c).trainsNothing() }

// inCommand returns a test for the values that count, whatever they mean or for a key: those of a script's first
// training command. All count if a script starts none, and in other files.
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
		return of[0].Passes[p[0]] && k != nil && systems.IsSetting(k.Setting) // a variable that is a flag's value says less than the flag
	}
}

// CommandNotes returns what the user should know about the commands of a script: which one is read, and what is not
// known about it.
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
		out = append(out, fmt.Sprintf("%s starts %d training runs: the one at line %d is read, not those at %s %s", s.File, len(of), of[0].Line, word, Enumerate(lines)))
	}
	if of[0].Broken > 0 {
		out = append(out, fmt.Sprintf("%s:%d: a comment ends the command that begins in line %d, so the shell does not pass the flags from here on; they are read as if it did", s.File, of[0].Broken, of[0].Line))
	}
	for _, u := range of[0].Unknown {
		out = append(out, fmt.Sprintf("%s:%d: %s may add flags, which are not counted: %s", s.File, of[0].Line, u.Text, u.Why))
	}
	return out
}
