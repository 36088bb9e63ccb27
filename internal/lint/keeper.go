// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

// Keeper returns the line of a file that keeps the tensors created on another of its lines: the append to a list, the
// sum, the hook. A snapshot shows where a tensor was allocated, not what refers to it. ok is false if the source does
// not show it.
func Keeper(src []byte, line int) (keeper int, ok bool) {
	file, err := pysrc.Parse("source", src)
	if err != nil {
		return 0, false
	}
	found, err := check("", src, file.Body, keepers(), "")
	if err != nil {
		return 0, false
	}
	var kept []Finding
	for _, f := range found {
		if len(f.made) > 0 {
			kept = append(kept, f)
		}
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
