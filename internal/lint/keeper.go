// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// Keeper returns the line of a file that keeps the tensors created on another of its lines: the append to a list, the
// sum, the hook. A snapshot shows where a tensor was allocated, not what refers to it. ok is false if the source does
// not show it.
func Keeper(src []byte, line int) (keeper int, ok bool) {
	file, kept := keptIn(src)
	if len(kept) == 0 {
		return 0, false
	}
	first, after := statementAt(file.Body, line)
	for _, f := range kept {
		for _, made := range f.made {
			if made >= first && made < after {
				return f.Line, true
			}
		}
	}
	if len(kept) == 1 {
		return kept[0].Line, true
	}
	return 0, false
}

// Kept returns the lines of a file that keep a tensor of every training step. Lines that collect the outputs of an
// evaluation are not among them.
func Kept(src []byte) []Finding {
	_, kept := keptIn(src)
	return slices.DeleteFunc(kept, func(f Finding) bool { return f.Rule == collectedOutputs.Code })
}

// keptIn parses a file and returns the lines that keep tensors; none if it cannot be parsed.
func keptIn(src []byte) (*pysrc.File, []Finding) {
	file, err := pysrc.Parse("source", src)
	if err != nil {
		return nil, nil
	}
	found, err := check("", src, file.Body, keepers(), "")
	if err != nil {
		return nil, nil
	}
	return file, slices.DeleteFunc(found, func(f Finding) bool { return len(f.made) == 0 })
}

// keepers returns the rules about kept memory.
func keepers() []Rule {
	var out []Rule
	for _, r := range Rules() {
		if strings.HasPrefix(r.Code, "SNG1") {
			out = append(out, r)
		}
	}
	return out
}

// statementAt returns the first line of the innermost statement that a line belongs to, and the first line of the
// next statement.
func statementAt(body []pysrc.Stmt, line int) (first, after int) {
	first, after = line, line+1
	next := 1 << 30
	var walk func([]pysrc.Stmt)
	walk = func(body []pysrc.Stmt) {
		for _, s := range body {
			at := s.At().Line
			if at <= line {
				first = max(min(first, line), at)
			} else {
				next = min(next, at)
			}
			pysrc.Parts(s, func(pysrc.Expr) {}, walk)
		}
	}
	first = 0
	walk(body)
	return first, max(after, min(next, line+100))
}
