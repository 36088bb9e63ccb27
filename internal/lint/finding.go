// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"snug/internal/pysrc"
)

// Finding is one place in a file where a rule applies.
type Finding struct {
	Rule    string // the rule's code
	Path    string // as given, or found in a folder
	Cell    int    // number of the notebook cell, from 1, counting all cells; 0 in a Python file
	Line    int    // from 1, within the cell if there is one
	Column  int    // in bytes, from 1
	Message string // what is wrong, and what to do
	Source  string // the line of code, without indentation
	Fixed   string // the line as --fix would write it, "" if it cannot be fixed

	edits []edit
	made  []int // lines that created the tensors kept here
}

// edit replaces some bytes of a file.
type edit struct {
	start, end int
	text       string
}

// reporter collects the findings of one rule in one file.
type reporter struct {
	code     string
	findings []Finding
}

// add adds a finding, and returns it so that optional fields can be set.
func (r *reporter) add(at pysrc.Pos, format string, args ...any) *Finding {
	r.findings = append(r.findings, Finding{Rule: r.code, Line: at.Line, Column: at.Col, Message: fmt.Sprintf(format, args...)})
	return &r.findings[len(r.findings)-1]
}
