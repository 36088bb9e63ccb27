// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"strings"
)

// Command is one command of a shell script.
type Command struct {
	Words []string // without the quotes around them and with $VARIABLES unexpanded (shell.go expands them)
	Lines []int    // of the words
}

// CommandLines returns the commands of a shell script; nil for any other file.
func (d *Document) CommandLines() []Command {
	if d.format != Shell {
		return nil
	}
	words, err := scanShell(d.src)
	if err != nil {
		return nil
	}
	var out []Command
	line, from := 1, 0
	for i, w := range words {
		if i == 0 || w.command != words[i-1].command {
			out = append(out, Command{})
		}
		if w.start > from {
			line += bytes.Count(d.src[from:w.start], []byte("\n"))
			from = w.start
		}
		c := &out[len(out)-1]
		c.Words = append(c.Words, strings.Trim(string(d.src[w.start:w.end]), `"'`))
		c.Lines = append(c.Lines, line)
	}
	return out
}

// Commands returns the words of each command of a shell script; nil for any other file.
func (d *Document) Commands() [][]string {
	var out [][]string
	for _, c := range d.CommandLines() {
		out = append(out, c.Words)
	}
	return out
}
