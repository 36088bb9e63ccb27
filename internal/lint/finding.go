// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"snug/internal/pysrc"
)

// Finding is one place in a file where a rule applies.
type Finding struct {
	Rule    string // its code
	Path    string // as it was given, or found under a folder
	Cell    int    // of a notebook, counted from 1 as all cells; 0 in a Python file
	Line    int    // counts from 1, in the cell if there is one
	Column  int    // counts bytes from 1
	Message string // what is wrong, and what to do
	Source  string // the line of code, without indentation
	Fixed   string // the line as --fix would write it, "" if it cannot be fixed

	edits []edit
	made  []int // lines where the tensors were made that are kept here
}

// edit replaces bytes of a file.
type edit struct {
	start, end int
	text       string
}

// reporter collects the findings of one rule in one file.
type reporter struct {
	code     string
	findings []Finding
}

// add adds a finding, and returns it for what only some have.
func (r *reporter) add(at pysrc.Pos, format string, args ...any) *Finding {
	r.findings = append(r.findings, Finding{Rule: r.code, Line: at.Line, Column: at.Col, Message: fmt.Sprintf(format, args...)})
	return &r.findings[len(r.findings)-1]
}
