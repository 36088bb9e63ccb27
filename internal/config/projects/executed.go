// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"strconv"
	"strings"
	"sync"

	"snug/internal/config/branches"
	"snug/internal/config/doc"
)

// A program may train in several ways, of which its arguments choose one. Only the code that is executed with the values
// in the files says what a run does.

// ExecutedPrograms returns the programs that train with a source, read with the values of all files of the run: the
// source itself if it is a program, or else those that a script starts or that read a file of arguments.
func (p *Found) ExecutedPrograms(s *Source) []ExecutedProgram {
	texts := s.ProgramTexts(p.files)
	if d := s.Tree.Layers[0].Doc; d.Format() == doc.Python {
		texts = []ProgramText{{File: s.File, Text: d.Text()}}
	}
	var out []ExecutedProgram
	for _, text := range texts {
		if p.executed == nil {
			p.executed = map[string]func() *branches.Program{}
		}
		if p.executed[text.File] == nil {
			p.executed[text.File] = sync.OnceValue(func() *branches.Program {
				return branches.Read(text.Text, argumentModules(p.files, text), p.argumentValues())
			})
		}
		out = append(out, ExecutedProgram{text, p.executed[text.File]})
	}
	return out
}

// ExecutedProgram is a program and its parts that are executed.
type ExecutedProgram struct {
	ProgramText
	read func() *branches.Program
}

// Code returns the program's text with spaces instead of the parts that are not executed.
func (e ExecutedProgram) Code() string { return e.read().Executed }

// Calls returns the executed calls of a function, class or method.
func (e ExecutedProgram) Calls(name string) []branches.Call { return e.read().Calls(name) }

// Undecided returns the condition that decides whether the code at an offset is executed, if the values in it are unknown.
func (e ExecutedProgram) Undecided(offset int) (c branches.Condition, ok bool) {
	return e.read().Undecided(1 + strings.Count(e.Text[:offset], "\n"))
}

// executes reports whether any code of a line is executed.
func (e ExecutedProgram) executes(line int) bool {
	lines := strings.Split(e.Code(), "\n")
	return line < 1 || line > len(lines) || strings.TrimSpace(lines[line-1]) != ""
}

// argumentModules returns the texts of the project's modules that a program imports and that may declare its arguments.
func argumentModules(files Files, program ProgramText) []string {
	var out []string
	tried := map[string]bool{program.File: true}
	for _, m := range importsOf.Regexp().FindAllStringSubmatch(program.Text, -1) {
		for _, at := range moduleFiles(path.Dir(program.File), m) {
			if tried[at] || len(tried) > maxImported || len(out) >= maxParsers {
				continue
			}
			tried[at] = true
			text, err := files.ReadFile(at)
			if err == nil && len(text) <= largestFile && (strings.Contains(string(text), "@dataclass") || strings.Contains(string(text), "add_argument(")) {
				out = append(out, string(text))
			}
		}
	}
	return out
}

// argumentValues returns the values in the run's files by their names, without sections. A name with several values, or with one that is not
// plain, is unknown.
func (p *Found) argumentValues() map[string]any {
	out := map[string]any{}
	for _, s := range p.SourcesRead() {
		for _, v := range s.OwnValues() {
			name := strings.ReplaceAll(strings.TrimLeft(v.Path[len(v.Path)-1], "-"), "-", "_")
			x := argumentValue(v.Value, s.Tree.Layers[0].Doc.Format() == doc.Shell)
			if before, twice := out[name]; twice && before != x {
				x = branches.Unknown{}
			}
			out[name] = x
			if off, is := strings.CutPrefix(name, "no_"); is && x == true && v.Path[len(v.Path)-1][0] == '-' { // HfArgumentParser has such flags
				out[off] = false
			}
		}
	}
	return out
}

// argumentValue returns a value as a program sees it. A flag's value is text that the program's parser converts.
func argumentValue(v doc.Value, flag bool) any {
	switch data := v.Data.(type) {
	case nil:
		if v.Kind == doc.Map || v.Kind == doc.List || IsComputed(v) {
			return branches.Unknown{}
		}
		return nil
	case int64:
		return float64(data)
	case float64, bool:
		return data
	case string:
		switch n, err := strconv.ParseFloat(data, 64); {
		case strings.Contains(data, "$"):
			return branches.Unknown{}
		case flag && (data == "True" || data == "true"), flag && (data == "False" || data == "false"):
			return data == "True" || data == "true"
		case flag && err == nil:
			return n
		}
		return data
	}
	return branches.Unknown{}
}
