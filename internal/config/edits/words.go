// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"bytes"
	"fmt"
	"path"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// spelled returns a value as written in the file, in words that its reader is known to accept: those of the
// system, of the library call that gets it, or of the parser that declares the flag.
func (c *planner) spelled(b projects.Bound, v any) (any, error) {
	world := c.project.World()
	if choices := c.choices(b); choices != nil {
		return b.Key.Choose(v, b.Place.Value, world, choices)
	}
	file, err := b.Key.PassedTo(b.Call()).Write(v, b.Place.Value, world)
	if err == nil && file == nil && b.Source.System.Commands != nil {
		return "null", nil // a flag that replaces a key of a config is read like the config
	}
	return file, err
}

// hasWord reports whether a key has a word for a value.
func (c *planner) hasWord(b projects.Bound, v any) bool {
	if choices := c.choices(b); choices != nil {
		_, err := b.Key.Choose(v, b.Place.Value, 1, choices)
		return err == nil
	}
	_, ok := systems.Spelling(b.Key.PassedTo(b.Call()).Words, fmt.Sprint(v), "")
	return ok
}

// choices returns the values that a parser accepts for a flag, in the file itself or in the program that a
// shell script starts. It returns nil if any value is accepted or nothing is known.
func (c *planner) choices(b projects.Bound) []string {
	flag := b.Path[len(b.Path)-1]
	if len(flag) < 2 || flag[0] != '-' {
		return nil
	}
	for _, l := range b.Source.Tree.Layers {
		if l.File == b.File && l.Doc.Format() == doc.Python {
			return l.Doc.Choices(flag)
		}
	}
	if b.Source.System.Commands == nil {
		return nil
	}
	program, text := c.program(b.Source)
	if text == nil {
		return nil
	}
	d, err := doc.Open(path.Base(program), text)
	if err != nil {
		return nil
	}
	return d.Choices(flag)
}

// program returns the program that a shell script starts and its text, which is nil if it cannot be read.
func (c *planner) program(script *projects.Source) (name string, text []byte) {
	name, _ = script.Program(c.project.Files())
	text, err := c.project.Files().ReadFile(name)
	if err != nil {
		return name, nil
	}
	return name, text
}

// takesFlag reports whether the program that a shell script starts may accept a flag. A program that declares
// another flag of the command accepts only those that it declares.
func (c *planner) takesFlag(script *projects.Source, flag, other string) bool {
	_, text := c.program(script)
	return !quotes(text, other) || quotes(text, flag)
}

// quotes reports whether a program contains a word in quotes.
func quotes(text []byte, word string) bool {
	return bytes.Contains(text, []byte(`"`+word+`"`)) || bytes.Contains(text, []byte("'"+word+"'"))
}
