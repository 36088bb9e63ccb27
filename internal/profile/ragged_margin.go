// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/gpu"
)

// otherRuns returns the runs that determine the margin of a ragged run. Shorter runs reserve less; longer runs are
// more likely to include a long batch. Two runs with different seeds differ by up to 40 %.
func (p *Program) otherRuns() (out []drawnRun) {
	for _, steps := range []int{usualSteps / 2, 2 * usualSteps, 4 * usualSteps} {
		out = append(out, drawnRun{seed: 0, steps: steps})
		for seed := range uint64(4) {
			out = append(out, drawnRun{seed: 100 + seed, steps: steps})
		}
	}
	return out
}

// drawnRun is one of the runs that can be drawn.
type drawnRun struct {
	seed  uint64
	steps int
}

// drawing returns p restricted to one run.
func (p *Program) drawing(run drawnRun) *Program {
	q, rg := *p, *p.ragged
	rg.only = &run
	q.ragged = &rg
	return &q
}

// middle returns p restricted to the run with the median peak, so that the median is computed only once.
func (p *Program) middle(values []int64) *Program {
	if p.ragged.given != nil {
		return p
	}
	at := Point{}
	for i, name := range p.Names {
		at[name] = values[i]
	}
	_, run, err := p.raggedPredict(values, at, 0)
	if err != nil {
		return p
	}
	return p.drawing(run)
}

// raggedMargin implements Margin for a run whose steps differ.
func (p *Program) raggedMargin(values []int64, card gpu.Card, peak func(*Program) (uint64, error)) (Margin, error) {
	w := &worstCase{peak: peak, plain: p}
	w.because(Drawn)
	var others []*Program
	for _, run := range p.otherRuns() {
		others = append(others, p.drawing(run))
	}
	w.plan(Drawn, others)
	v := p.nearest(values)
	sizes := slices.Repeat([]uint64{1}, len(p.formulas))
	w.plan(Workspaces, p.middle(values).rescaled(v, sizes, (*formula).bounded))
	if now := card.Kernels(p.torch()); (card.Capability != 0 || card.Maker == gpu.AMD) && now != p.rules() {
		w.because(Elsewhere)
	}
	w.known(Smaller, residuals().Smaller, p.below(values))
	return w.margin()
}

// WithInterval adds to a prediction the range that a run may reserve, if its steps differ in size.
func (p *Program) WithInterval(got *Prediction) error {
	if p.ragged == nil {
		return nil
	}
	m, err := p.Margin(got.At, gpu.Card{}, func(q *Program) (uint64, error) {
		other, err := q.Predict(got.At)
		if err != nil {
			return 0, err
		}
		return other.PeakReserved, nil
	})
	if err != nil {
		return err
	}
	least := max(m.Less, matters)
	got.Interval = &[2]uint64{got.PeakReserved - min(least, got.PeakReserved), got.PeakReserved + max(m.More, matters)}
	return nil
}
