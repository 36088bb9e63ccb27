// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"snug/internal/profile"
	"snug/internal/term"
	"snug/internal/units"
)

// predictReport is the output of `snug predict`, as text and as JSON.
type predictReport struct {
	program     *profile.Program
	predictions []*profile.Prediction
	saved       string // the file that --out wrote
}

// json writes one line for each size.
func (r *predictReport) json(w io.Writer) error {
	for _, p := range r.predictions {
		if err := printJSON(w, p); err != nil {
			return err
		}
	}
	return nil
}

// text writes the report as text.
func (r *predictReport) text(w io.Writer, s term.Screen) error {
	var b strings.Builder
	r.title(&b, s)
	if len(r.predictions) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(s.Table(r.table()), "\n"))
	}
	r.steps(&b)
	fmt.Fprintf(&b, "\n%s\n", basis(r.program))
	if r.saved != "" {
		fmt.Fprintf(&b, "saved to %s; to see what fits:\nsnug max-batch --model %s --gpu CARD\n", r.saved, r.saved)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *predictReport) title(b *strings.Builder, s term.Screen) {
	var sizes []string
	for _, at := range r.program.Recorded() {
		sizes = append(sizes, at.String())
	}
	fmt.Fprintf(b, "%s, PyTorch %v\n", s.Paint(term.Bold, "recorded at "+strings.Join(sizes, " and ")), r.program.Torch)
}

func (r *predictReport) table() term.Table {
	t := term.Table{Header: []string{"size", "peak reserved", "peak allocated", "fragmentation"}, Right: []int{1, 2, 3}, Indent: 2}
	if r.program.Ragged() {
		t.Header, t.Right = slices.Insert(t.Header, 2, "expect"), []int{1, 2, 3, 4}
	}
	for _, p := range r.predictions {
		lost := p.PeakReserved - min(p.PeakAllocated, p.PeakReserved)
		row := []string{p.At.String(), units.Bytes(p.PeakReserved).String(), units.Bytes(p.PeakAllocated).String(), percent(lost, p.PeakReserved)}
		if p.Interval != nil {
			row = slices.Insert(row, 2, fmt.Sprintf("%v – %v", units.Bytes(p.Interval[0]), units.Bytes(p.Interval[1])))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// steps describes how steps of different sizes were drawn.
func (r *predictReport) steps(b *strings.Builder) {
	if text := r.program.DescribeSteps(); text != "" && len(r.predictions) > 0 {
		fmt.Fprintf(b, "\n%s\n", text)
	}
}

// basis returns a sentence about what the figures are based on.
func basis(program *profile.Program) string {
	n := program.Certainties()
	text := fmt.Sprintf("%s allocations: %s follow formulas that the recordings confirm",
		term.Count(n[profile.Exact]+n[profile.Fitted]+n[profile.Bounded]+n[profile.Measured]), term.Count(n[profile.Exact]))
	if n[profile.Measured] > 0 {
		text += fmt.Sprintf(",\n%s are workspaces with measured sizes", term.Count(n[profile.Measured]))
	}
	if n[profile.Fitted] > 0 {
		text += fmt.Sprintf(",\n%s follow formulas that need another recording to confirm", term.Count(n[profile.Fitted]))
	}
	if n[profile.Bounded] > 0 {
		text += fmt.Sprintf(",\n%s have no formula; they are bounded by the recorded sizes", term.Count(n[profile.Bounded]))
	}
	return text
}
