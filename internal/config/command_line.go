// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/pattern"
)

// unquoted matches a word that a shell takes literally.
var unquoted = pattern.New(`^[A-Za-z0-9_./:+,=@%^-]+$`)

// readsConfig is appended to a command line so that all of its settings count: flags alone may belong to
// any program, but those of a command that reads a config belong to training.
const readsConfig = " --config command.sh"

// CommandSettings returns the settings in the words of a command, such as --batch-size 8 or
// data.batch_size=8, read like a script of that one line. They take precedence over any file.
func CommandSettings(words []string) []projects.Binding {
	d, err := doc.Open("command.sh", []byte(asLine(words)))
	if err != nil {
		return nil // no command that was ever typed
	}
	s := projects.NewSource("command.sh", systems.Shell(), tree.New(tree.Layer{File: "command.sh", Doc: d}))
	found, err := s.Bind()
	if err != nil {
		return nil
	}
	var out []projects.Binding
	for _, b := range found {
		if systems.IsSetting(b.Setting) {
			out = append(out, b.Binding)
		}
	}
	return out
}

// asLine joins words to a line, quoted as a shell needs them. The words inside sh -c count too.
func asLine(words []string) string {
	var line []string
	for _, w := range strings.Fields(strings.Join(words, " ")) {
		if !unquoted.In(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line = append(line, w)
	}
	return strings.Join(line, " ") + readsConfig + "\n"
}
