// SPDX-License-Identifier: Apache-2.0

package doc

import "strings"

// Commands returns the words of each command of a shell script, without the quotes
// around them and with $VARIABLES unexpanded (shell.go expands them); nil for any other file.
func (d *Document) Commands() [][]string {
	if d.format != Shell {
		return nil
	}
	words, err := scanShell(d.src)
	if err != nil {
		return nil
	}
	var out [][]string
	for i, w := range words {
		if i == 0 || w.command != words[i-1].command {
			out = append(out, nil)
		}
		last := len(out) - 1
		out[last] = append(out[last], strings.Trim(string(d.src[w.start:w.end]), `"'`))
	}
	return out
}
