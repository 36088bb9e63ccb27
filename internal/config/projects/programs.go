// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// programs returns the Python files that a shell script starts, as it names them.
func (s *Source) programs() []string {
	var out []string
	for _, c := range s.Tree.Layers[0].Doc.Commands() {
		for _, w := range c.Words {
			if strings.HasSuffix(w, ".py") {
				out = append(out, w)
			}
		}
	}
	return out
}

// programTrainer returns the system whose flags the user's program, started by a shell script, accepts; nil
// if the program is missing or does not show it.
func (s *Source) programTrainer(files Files) *systems.System {
	for _, name := range s.programs() {
		for _, at := range placesOf(s.File, name) {
			text, err := files.ReadFile(at)
			if err != nil || len(text) > largestFile {
				continue
			}
			for _, known := range s.System.Commands.Parses {
				if known.Text.In(string(text)) {
					return known.Trainer
				}
			}
			if s.System.Commands.Trainer != nil && systems.HasOwnParser(string(text)) { // the flags of a known system's own program are known
				return systems.UnknownProgram()
			}
		}
	}
	return nil
}

// Program returns the Python file in the folder that a script trains with, and its arguments; "" if there is none.
// If no command trains, it is the file that the script's only command starts. Unknown arguments are omitted.
func (s *Source) Program(files Files) (program string, args []string) {
	if of := trainings(s.System, s.Tree); len(of) > 0 && s.System.Commands != nil {
		return s.programOf(files, of[0])
	}
	for _, c := range s.Tree.Layers[0].Doc.Commands() {
		started, with := s.programOf(files, c)
		if started != "" && program != "" {
			return "", nil
		}
		if started != "" {
			program, args = started, with
		}
	}
	return program, args
}

// programOf returns the Python file in the folder that a command starts, with its arguments.
func (s *Source) programOf(files Files, c doc.Command) (program string, args []string) {
	i := slices.IndexFunc(c.Words, func(w string) bool { return strings.HasSuffix(w, ".py") })
	if i < 0 {
		return "", nil
	}
	for _, at := range placesOf(s.File, c.Words[i]) {
		if text, err := files.ReadFile(at); err == nil && len(text) <= largestFile {
			return at, plainArgs(c.Words[i+1:])
		}
	}
	return "", nil
}

// plainArgs returns the flags whose values are plain words.
func plainArgs(words []string) (out []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		valued := strings.HasPrefix(w, "-") && !strings.Contains(w, "=") && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-")
		if valued {
			if i++; !strings.ContainsAny(words[i], "$` ") {
				out = append(out, w, words[i])
			}
			continue
		}
		if !strings.ContainsAny(w, "$` ") {
			out = append(out, w)
		}
	}
	return out
}

// StartsProgram reports whether a script starts a program whose name or path ends in ending.
func (s *Source) StartsProgram(ending string) bool {
	return slices.ContainsFunc(s.Tree.Layers[0].Doc.Commands(), func(c doc.Command) bool {
		return slices.ContainsFunc(c.Words, func(w string) bool { return strings.HasSuffix(strings.TrimSuffix(w, ".py"), ending) })
	})
}
