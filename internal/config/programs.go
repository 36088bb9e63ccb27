// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path"
	"slices"
	"strings"
)

// programs are the Python files that a shell script starts, as it names them.
func (s *source) programs() []string {
	var out []string
	for _, words := range s.tree.layers[0].doc.Commands() {
		for _, w := range words {
			if strings.HasSuffix(w, ".py") {
				out = append(out, w)
			}
		}
	}
	return out
}

// flagsOf is the system whose flags a program of the user's own takes that a shell
// script starts, nil where no such program is here or it does not say.
func (s *source) flagsOf(files Files) *Adapter {
	for _, name := range s.programs() {
		for _, at := range []string{path.Clean(name), path.Join(path.Dir(s.file), name)} {
			text, err := files.ReadFile(at)
			if err != nil || len(text) > largestFile {
				continue
			}
			for _, known := range s.adapter.Commands.Parses {
				if known.Text.In(string(text)) {
					return known.Trainer
				}
			}
		}
	}
	return nil
}

// starts tells whether a script starts a program whose name ends so, by its name or by
// the path of a copy.
func (s *source) starts(ending string) bool {
	return slices.ContainsFunc(s.tree.layers[0].doc.Commands(), func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(strings.TrimSuffix(w, ".py"), ending) })
	})
}
