// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// A program that takes its settings from flags often shows its command in the docstring at its top, or in the README next
// to it.

// Documentation is a command in a program's documentation.
type Documentation struct {
	Program string // the program's file
	File    string // the file with the command
	Line    int    // where the command begins
	Others  int    // how many more commands for the program the file contains
}

// documentedCommand returns the first command in a program's documentation as a shell script, in which all other lines are
// empty, so that positions are those in the documentation. It returns nil if there is none, or if scripts start the
// program.
func (p *Found) documentedCommand(name string) *Source {
	data, err := p.files.ReadFile(name)
	if format, _ := doc.FormatOf(name, data); err != nil || format != doc.Python || !parsesFlags.In(string(data)) || len(p.starters(name)) > 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	if importsOtherTuner(lines) {
		return nil
	}
	if s := p.commandAmong(name, name, lines, commandsIn(lines, docstring(lines), path.Base(name))); s != nil {
		return s
	}
	readme := path.Join(path.Dir(name), "README.md")
	data, err = p.files.ReadFile(readme)
	if err != nil {
		return nil
	}
	lines = strings.Split(string(data), "\n")
	var found []lineRange
	for _, block := range fenced(lines) {
		found = append(found, commandsIn(lines, block, path.Base(name))...)
	}
	return p.commandAmong(name, readme, lines, found)
}

// importsOtherTuner reports whether a program imports a PEFT method other than LoRA, whose weights would not be counted.
func importsOtherTuner(lines []string) bool {
	for i, line := range lines {
		names, is := strings.CutPrefix(strings.TrimSpace(line), "from peft import ")
		if !is {
			continue
		}
		if strings.HasPrefix(names, "(") {
			for n := i + 1; n < len(lines) && !strings.Contains(names, ")"); n++ {
				names += lines[n]
			}
		}
		for _, name := range strings.FieldsFunc(names, func(r rune) bool { return strings.ContainsRune("(), \t\r", r) }) {
			if strings.HasSuffix(name, "Config") && !slices.Contains([]string{"LoraConfig", "PeftConfig", "LoftQConfig"}, name) {
				return true
			}
		}
	}
	return false
}

// commandAmong returns the first of the commands in a file as a shell script, with the variables that are set above it.
func (p *Found) commandAmong(program, file string, lines []string, found []lineRange) *Source {
	if len(found) == 0 {
		return nil
	}
	first, kept := found[0], slices.Clone(lines)
	for i := range kept {
		words := strings.Fields(strings.TrimPrefix(kept[i], "export "))
		sets := i < first.from && i >= first.block && assignments(words) == len(words)
		if (i < first.from || i >= first.to) && !sets {
			kept[i] = ""
		}
	}
	d, err := doc.OpenAs(file, doc.Shell, []byte(strings.Join(kept, "\n")))
	if err != nil {
		return nil
	}
	t := tree.New(tree.Layer{File: file, Doc: d})
	t.Renamed = renamed(p.files, file, d)
	system := recognize(t)
	if system == nil {
		return nil
	}
	titled := *system
	titled.Title = "a command in the documentation"
	s := NewSource(file, &titled, t)
	if system.Commands != nil {
		s.program = s.programTrainer(p.files)
	}
	p.Documented = &Documentation{program, file, first.from + 1, len(found) - 1}
	return s
}

// fenced returns the code blocks of a Markdown file.
func fenced(lines []string) []lineRange {
	var out []lineRange
	from := -1
	for i, line := range lines {
		switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
		case fence && from < 0:
			from = i + 1
		case fence:
			out = append(out, lineRange{from: from, to: i})
			from = -1
		}
	}
	return out
}

// lineRange is a range of lines, counted from 0.
type lineRange struct {
	from, to int
	block    int // where the text around it begins
}

// docstring returns the lines of the string at the top of a module.
func docstring(lines []string) lineRange {
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		text = strings.TrimLeft(text, "rR")
		for _, quotes := range []string{`"""`, "'''"} {
			if !strings.HasPrefix(text, quotes) {
				continue
			}
			for n := i + 1; n < len(lines); n++ {
				if strings.Contains(lines[n], quotes) {
					return lineRange{from: i + 1, to: n}
				}
			}
		}
		return lineRange{}
	}
	return lineRange{}
}

// commandsIn returns the commands in a range of lines that start a program with flags. A backslash at the end of a line
// continues the command.
func commandsIn(lines []string, in lineRange, program string) []lineRange {
	var out []lineRange
	for i := in.from; i < in.to; i++ {
		words := strings.Fields(lines[i])
		words = words[min(len(words), assignments(words)):]
		if len(words) == 0 || !slices.Contains(documentedStarters, words[0]) {
			continue
		}
		from := i
		for i < in.to-1 && strings.HasSuffix(strings.TrimSpace(lines[i]), `\`) {
			i++
		}
		text := strings.Join(lines[from:i+1], "\n")
		if strings.Contains(text, program+" ") && strings.Contains(text, " --") {
			out = append(out, lineRange{from, i + 1, in.from})
		}
	}
	return out
}

// documentedStarters are the commands that documentation starts programs with.
var documentedStarters = []string{"python", "python3", "torchrun", "accelerate", "deepspeed"}

// assignments returns how many words at the start of a command set environment variables.
func assignments(words []string) int {
	n := 0
	for n < len(words) && strings.Contains(words[n], "=") && !strings.HasPrefix(words[n], "-") {
		n++
	}
	return n
}
