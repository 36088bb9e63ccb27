// SPDX-License-Identifier: Apache-2.0

package profile

import "fmt"

// In some programs every step has a different size: a batch is padded to its longest sample, or contains graphs of
// different sizes. The probe sees the model's inputs, so a step has quantities of its own besides those of the run,
// such as a padded length or a number of nodes. The files:
//
//	notes.go             what the probe saw
//	ragged_columns.go    the numbers that change from step to step
//	ragged_sections.go   a recording as a sequence of steps, all aligned with one another
//	ragged_choose.go     the quantities that explain the most bytes
//	ragged_solve.go      formulas in these quantities, over all steps of all recordings
//	ragged_fit.go        recordings → Program
//	ragged_data.go       the values of the quantities in steps with a different batch
//	ragged_order.go      the order of the samples, if it is known
//	ragged_play.go       a run of many steps, drawn and played
//	ragged_margin.go     how far other runs differ from it
//	ragged_file.go       all of this in memory.snug

// ragged describes how the steps of a program differ. The program's formulas use the quantities of the run, followed
// by those of a step.
type ragged struct {
	quantities []quantity
	data       data
	only       *drawnRun        // the only run to play; nil means the median of several runs
	given      []int64          // the length of each step, as given by the user; nil if drawn from the data
	steps      [][]recordedStep // by variant
	carried    []map[uint32]int // by variant: allocations of the last step but one that the last step frees, and their counterparts in the last step
}

// recordedStep is a step of a variant.
type recordedStep struct {
	begin  int     // its first event
	values []int64 // values of the quantities
}

// quantity is a number that changes from step to step.
type quantity struct {
	Column   string `json:"column"`             // name of the probe's column
	Shift    int64  `json:"shift,omitempty"`    // added to the column; a target without its last token is one shorter
	Stride   int64  `json:"stride,omitempty"`   // every Stride-th element, including the first, as strided convolutions reduce a length
	Multiple int64  `json:"multiple,omitempty"` // round up to a multiple of this; 0 means no rounding
}

// of returns the value of the quantity for a column value n.
func (q quantity) of(n int64) int64 {
	n = min(max(n+q.Shift, 1), maxQuantity)
	if q.Stride > 1 {
		n = (n-1)/q.Stride + 1
	}
	if q.Multiple > 1 {
		n = (n + q.Multiple - 1) / q.Multiple * q.Multiple
	}
	return n
}

// String returns the quantity's name in reports.
func (q quantity) String() string {
	name := q.Column
	if q.Shift != 0 {
		name = fmt.Sprintf("%s %+d", name, q.Shift)
	}
	if q.Stride > 1 {
		name = fmt.Sprintf("one in %d of %s", q.Stride, name)
	}
	if q.Multiple > 1 {
		return fmt.Sprintf("%s in multiples of %d", name, q.Multiple)
	}
	return name
}

// Ragged reports whether the steps of the recorded run have different sizes.
func (p *Program) Ragged() bool { return p.ragged != nil }

// DescribeSteps describes how the steps of a ragged run differ and where their sizes come from; "" if they are all
// the same.
func (p *Program) DescribeSteps() string {
	if p.ragged == nil {
		return ""
	}
	var names []string
	for _, q := range p.ragged.quantities {
		names = append(names, q.String())
	}
	d := &p.ragged.data
	from := map[string]string{
		FromSamples: fmt.Sprintf("%d samples of the dataset", len(d.Units)),
		FromBatches: fmt.Sprintf("%d batches of the data loader", len(d.Units)),
		FromSteps:   "only the recorded steps: record more (--steps) for a better answer",
	}[d.Source]
	return fmt.Sprintf("steps differ in %s;\n%d steps are drawn from %s", list(names), usualSteps, from)
}

// HasLength reports whether the steps differ only in the length of the longest sample, so that a user can specify it.
func (p *Program) HasLength() bool {
	if p.ragged == nil || len(p.ragged.quantities) == 0 {
		return false
	}
	for i, q := range p.ragged.quantities {
		if p.ragged.data.Rules[i] != longest || q.Column != p.ragged.quantities[0].Column {
			return false
		}
	}
	return true
}

// WithLengths returns p with the length of each step given. HasLength must be true.
func (p *Program) WithLengths(lengths []int64) *Program {
	q, rg := *p, *p.ragged
	rg.given = lengths
	q.ragged = &rg
	return &q
}
