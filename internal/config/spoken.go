// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// bare is a word that a shell takes as it stands.
var bare = pattern.New(`^[A-Za-z0-9_./:+,=@%^-]+$`)

// reads makes every setting of a line count: flags alone are anybody's, those of
// a command that reads a config are a training's.
const reads = " --config command.sh"

// Spoken is the settings that the words of a command give, as --batch-size 8 or
// data.batch_size=8: a script of that one line would be read so. What a command
// says holds over any file.
func Spoken(words []string) []Binding {
	d, err := doc.Open("command.sh", []byte(asLine(words)))
	if err != nil {
		return nil // no command that was ever typed
	}
	s := newSource("command.sh", &shell, newTree(layer{file: "command.sh", doc: d}))
	found, err := s.bind()
	if err != nil {
		return nil
	}
	var out []Binding
	for _, b := range found {
		if isSetting(b.Setting) {
			out = append(out, b.Binding)
		}
	}
	return out
}

// asLine writes words as a shell would read them. Those of sh -c stand in one:
// they count as well.
func asLine(words []string) string {
	var line []string
	for _, w := range strings.Fields(strings.Join(words, " ")) {
		if !bare.In(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line = append(line, w)
	}
	return strings.Join(line, " ") + reads + "\n"
}
