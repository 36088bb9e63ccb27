// SPDX-License-Identifier: Apache-2.0

// Package branches finds the parts of a Python program that are executed with known arguments. One program often trains
// in several ways, and a condition on its arguments chooses: if args.task == "dpo". Nothing is executed; a condition
// whose value cannot be found leaves both of its branches.
//
// A program is read in several passes. Each pass evaluates conditions with the assignments and calls that the previous
// pass found to be executed, so the executed part only shrinks:
//
//   - a branch whose condition is false is not executed, nor are statements after one that always returns;
//   - a function that the program mentions only in such places is not executed;
//   - a variable with a single executed assignment has that value, and a parameter the value that all executed calls
//     pass.
package branches

import (
	"strings"

	"snug/internal/pysrc"
)

// maxReads limits the number of passes. Each may find that one more level of functions is unused, or is executed in any
// case.
const maxReads = 16

// Program is a Python program, read with known arguments.
type Program struct {
	// Executed is the text with spaces instead of the parts that are not executed. Lines and columns do not move.
	Executed string

	conditions []condition       // undecided ones, outer ones first
	calls      map[string][]Call // executed ones, by name
	bodies     map[string]string // of functions
	named      map[string]bool   // the names of all calls, executed or not
}

// condition is a condition that could not be decided: the lines that depend on it, and the arguments in it.
type condition struct {
	from, to int // lines; to is exclusive
	Condition
}

// Condition is a condition on arguments whose values are unknown.
type Condition struct {
	Line  int      // in the program
	Names []string // the arguments
}

// Unknown is the value of an argument that is given, but not as a plain value.
type Unknown struct{}

// Read reads a program. Modules are the texts of modules that may declare its arguments; given maps names of arguments
// to their values: a string, a float64, a bool, nil for None, or Unknown. If a program cannot be parsed, all of it counts
// as executed.
func Read(text string, modules []string, given map[string]any) *Program {
	file, err := pysrc.Parse("", []byte(text))
	if err != nil {
		return &Program{Executed: text}
	}
	r := newReading(file, text, given)
	r.declare(file.Body)
	for _, m := range modules {
		if f, err := pysrc.Parse("", []byte(m)); err == nil {
			r.declare(f.Body)
		}
	}
	for range maxReads {
		if !r.again() {
			break
		}
	}
	executed := r.blanked()
	return &Program{executed, r.conditions, r.collect(), r.functionTexts(executed), r.named}
}

// Undecided returns the innermost undecided condition on arguments that a line depends on; ok is false if there is none.
func (p *Program) Undecided(line int) (c Condition, ok bool) {
	for _, x := range p.conditions {
		if x.from <= line && line < x.to && len(x.Names) > 0 {
			c, ok = x.Condition, true
		}
	}
	return c, ok
}

// blanked returns the text with spaces instead of the parts that are not executed.
func (r *reading) blanked() string {
	out := []byte(r.text)
	for _, s := range r.unused {
		for i := r.offset(s.from); i < r.offset(s.to); i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// span is a part of the text.
type span struct{ from, to pysrc.Pos }

// offset returns the byte at a position.
func (r *reading) offset(p pysrc.Pos) int {
	if p.Line > len(r.lines) {
		return len(r.text)
	}
	return min(r.lines[p.Line-1]+p.Col-1, len(r.text))
}

// block returns the part of the text from a statement to the end of its block. Lines at the end that are indented less, such as
// else, belong to what follows.
func (r *reading) block(first pysrc.Stmt, end pysrc.Pos) span {
	from := first.At()
	last := min(end.Line, len(r.lines)+1) // exclusive
	if end.Line == from.Line {
		return span{from, end}
	}
	for last > from.Line+1 {
		line := r.line(last - 1)
		bare := strings.TrimLeft(line, " \t")
		if bare != "" && bare[0] != '#' && len(line)-len(bare) >= from.Col-1 {
			break
		}
		last--
	}
	return span{from, pysrc.Pos{Line: last, Col: 1}}
}

// line returns a line without its end, counted from 1.
func (r *reading) line(n int) string {
	end := len(r.text)
	if n < len(r.lines) {
		end = r.lines[n]
	}
	return strings.TrimRight(r.text[r.lines[n-1]:end], "\r\n")
}
