// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
	"strings"
)

// Command is a command that a shell script starts.
type Command struct {
	Line  int      // where it begins; 0 if the script builds it from parts
	Words []string // expanded; an unknown word is given as written, without quotes
	Lines []int    // the line of each word
	// Keys are the keys of its flags and arguments in the document, and Environment the keys of the variables
	// in its environment.
	Keys, Environment map[string]bool
	// Passes are the keys of the variables that are values or arguments of the command.
	Passes map[string]bool
	// Unknown lists the unknown words, which may expand to any number of flags, and why they are unknown.
	Unknown []UnknownWord
	// Broken is the first line that was probably meant for this command but is cut off by a comment; 0 if
	// there is none.
	Broken int
	// Maybe means that whether the command is started depends on something unknown.
	Maybe bool
}

// UnknownWord is a word of a command that may expand to any number of words: Text is the word as written, and Why is
// the reason why it is unknown.
type UnknownWord struct{ Text, Why string }

// Commands returns the commands that a shell script starts, in script order; nil for any other file. A command in
// a loop or a function is listed once.
func (d *Document) Commands() []Command {
	s, ok := d.syntax.(*shellSyntax)
	if !ok {
		return nil
	}
	keys := map[*node]string{}
	definitions := map[int]string{}
	for _, e := range d.root.entries {
		keys[e.value] = e.key
		definitions[e.keyStart] = e.key
	}
	var out []Command
	for _, c := range s.commands {
		made := Command{Keys: map[string]bool{}, Environment: map[string]bool{}, Passes: map[string]bool{}, Maybe: true}
		if c.at >= 0 {
			made.Line, _ = d.position(c.at)
			if at := s.broken[c.at]; at > 0 {
				made.Broken, _ = d.position(at)
			}
		}
		for _, e := range c.entries {
			made.Keys[keys[e.value]] = true
			if to := e.value.resolve(); to != e.value {
				made.Passes[keys[to]] = true
			}
		}
		for _, r := range c.runs {
			made.Maybe = made.Maybe && r.Maybe
			for _, w := range r.Words {
				if w.Variable != "" {
					made.Passes[definitions[w.Definition]] = true
				}
			}
			for _, at := range r.Environment {
				made.Environment[definitions[at]] = true
			}
		}
		d.addWords(&made, c)
		out = append(out, made)
	}
	return out
}

// addWords adds the words of a command.
func (d *Document) addWords(c *Command, of shCommand) {
	for _, w := range of.runs[0].Words {
		line := c.Line
		if w.Start >= 0 {
			line, _ = d.position(w.Start)
		}
		c.Lines = append(c.Lines, line)
		text, known := w.Text()
		if !known {
			text = strings.Trim(w.Raw, `"'`)
		}
		c.Words = append(c.Words, text)
	}
	for _, r := range of.runs {
		for i, w := range r.Words {
			u := UnknownWord{w.Raw, w.Why()}
			afterFlag := i > 0 && strings.HasPrefix(r.Words[i-1].Known(), "-") && !strings.Contains(r.Words[i-1].Known(), "=")
			if w.Many() && w.Known() == "" && !(afterFlag && isValue(w)) && !slices.Contains(c.Unknown, u) {
				c.Unknown = append(c.Unknown, u)
			}
		}
	}
}
