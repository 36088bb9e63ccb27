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

// unquoted matches a word that needs no quotes in a shell.
var unquoted = pattern.New(`^[A-Za-z0-9_./:+,=@%^-]+$`)

// readsConfig is appended to a command line so that all of its settings are read: flags alone could belong to
// any program, but a command that reads a config is a training run.
const readsConfig = " --config command.sh"

// CommandSettings returns the settings in a command's words, such as --batch-size 8 or data.batch_size=8,
// read as a one-line script. They take precedence over any file.
func CommandSettings(words []string) []projects.Binding {
	d, err := doc.Open("command.sh", []byte(asLine(words)))
	if err != nil {
		return nil // cannot be a real command
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

// asLine joins words into one line, quoted for the shell. The words inside sh -c are included.
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
