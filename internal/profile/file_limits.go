// SPDX-License-Identifier: Apache-2.0

package profile

import "fmt"

// A profile is stored next to the training code, and snug opens it without being asked to. So a file of a few bytes
// must not make snug allocate gigabytes: every count in the file has a limit, which is checked before anything of
// that size is allocated. The limits are far above what recordings need, and Write obeys them too. Together they keep
// the memory for reading a file below 300 MB.
const (
	maxFile       = 32 << 20
	maxBody       = 32 << 20
	maxEvents     = 6 << 20 // two recordings of the maximum length of snug profile
	maxFormulas   = 1 << 18
	maxAllTerms   = 1 << 20 // terms of all formulas, including measured and observed values
	maxSum        = 1 << 10 // terms of one formula; a bound may have the same product twice
	maxPoints     = 1 << 12 // points of one measured workspace
	maxRecordings = 1 << 8
	maxQueues     = 1 << 12
	maxSegments   = 8 << 20 // bytes of JSON in all recordings
	maxCommas     = 1 << 18 // commas in that JSON; a block has six
	maxWork       = 1 << 28 // formulas times recordings
)

// bodyLimit returns the largest allowed body for a file of this size. A million equal events take about four
// kilobytes compressed, and three bytes each uncompressed.
func bodyLimit(file int) int {
	const base, ratio = 2 << 20, 1 << 11
	return min(base+ratio*file, maxBody)
}

// events returns the number of events in all variants.
func (p *Program) events() int {
	n := 0
	for i := range p.variants {
		n += len(p.variants[i].events)
	}
	return n
}

// terms returns the number of terms in all formulas, including measured and observed values.
func (p *Program) terms() int {
	n := 0
	for i := range p.formulas {
		f := &p.formulas[i]
		n += len(f.terms) + len(f.most) + len(f.seen)
		if f.sum != nil {
			n += len(f.sum.incoming)
		}
		if f.measured != nil {
			n += len(f.measured.points)
		}
	}
	return n
}

// tooLong returns an error if a program exceeds the limits of Read.
func (p *Program) tooLong() error {
	if n := p.events(); n > maxEvents {
		return fmt.Errorf("the recordings have %d events, but a profile can have at most %d: record fewer steps (--steps) or sizes", n, maxEvents)
	}
	if n := p.terms(); n > maxAllTerms {
		return fmt.Errorf("the formulas have %d terms, but a profile can have at most %d: record fewer sizes", n, maxAllTerms)
	}
	if len(p.variants) > maxRecordings || len(p.formulas) > maxFormulas {
		return fmt.Errorf("%d recordings with %d different allocations are more than a profile can have (%d, %d): record fewer sizes",
			len(p.variants), len(p.formulas), maxRecordings, maxFormulas)
	}
	return nil
}

// checkWork returns an error for a program that would take too long to evaluate at its recorded sizes.
func (d *decoder) checkWork(p *Program) {
	if n := (len(p.formulas) + p.terms()) * max(len(p.variants), 1); n > maxWork {
		d.fail("%d formulas for %d recordings", len(p.formulas), len(p.variants))
	}
}
