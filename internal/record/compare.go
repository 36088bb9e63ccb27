// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"slices"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/run"
	"snug/internal/setup"
)

// Comparison is a measured run with its estimate.
type Comparison struct {
	Setup    *setup.Setup     // the run that was estimated
	Fields   map[string]any   // the setup as it was written, with the run's size
	Estimate *estimate.Answer // the estimate for this setup
	Figures  []Figure         // one for each measured peak
}

// Figure is one quantity that was both measured and estimated, in bytes.
type Figure struct {
	Name      string `json:"name"`      // what was measured
	Measured  uint64 `json:"measured"`  // bytes
	Estimated uint64 `json:"estimated"` // bytes
}

// compare estimates every measured size if the plan has a setup. A size that cannot be estimated only adds a note;
// its measurement is kept.
func (s *Session) compare(r *Result) {
	if s.plan.Reference == nil {
		return
	}
	for _, t := range r.Trials {
		c, err := s.plan.Reference.compare(t)
		if err != nil {
			s.note(r, "no estimate%s: %v", t.AtSize(), err)
			continue
		}
		t.Comparison = c
	}
}

// compare estimates the setup at a run's size, on the run's card and versions.
func (r *Reference) compare(t *Trial) (*Comparison, error) {
	s, fields, err := r.decode(t.At, t.Report)
	if err != nil {
		return nil, err
	}
	a, err := estimate.Estimate(s, t.Card())
	if err != nil {
		return nil, err
	}
	return &Comparison{s, fields, a, figures(t.Report, a)}, nil
}

// figures compares measured and estimated figures: persistent memory item by item, everything else as a sum. The sum
// includes gradients, because only some of them exist at the peak.
func figures(x *run.Report, a *estimate.Answer) []Figure {
	c := a.Components
	var out []Figure
	if s := x.State; s != nil {
		kept := s.Parameters + s.Buffers
		out = append(out,
			Figure{"parameters", kept, c.Parameters},
			Figure{"optimizer", s.Optimizer, c.Optimizer},
			Figure{"everything else at the peak", above(x.PeakAllocated(), kept+s.Optimizer), above(a.PeakAllocated, c.Parameters+c.Optimizer)})
	}
	return append(out,
		Figure{"peak allocated", x.PeakAllocated(), a.PeakAllocated},
		Figure{"peak reserved", x.PeakReserved(), a.PeakReserved})
}

// above returns how far a is above b.
func above(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// farApart is the relative error above which an estimate probably describes a different run: the largest error seen
// in real runs was 25 %.
const farApart = 0.3

// FarApart reports whether estimate and measurement differ so much that they probably describe different runs.
func (r *Result) FarApart() bool {
	return slices.ContainsFunc(r.Trials, func(t *Trial) bool {
		if t.Comparison == nil || t.Report.PeakReserved() == 0 {
			return false
		}
		off := float64(t.Comparison.Estimate.PeakReserved)/float64(t.Report.PeakReserved()) - 1
		return max(off, -off) > farApart
	})
}

// Residual returns how far off an estimate of a setup on a card may be, given these measured runs. It uses the errors
// of similar estimates on this machine or, without any, the errors of these runs. For a card other than the one
// measured, the range is at least the usual one. It is nil if nothing was compared.
func (r *Result) Residual(s *setup.Setup, card gpu.Card, past *Past) *estimate.Range {
	off := r.residual()
	if off == nil {
		return nil
	}
	first := r.Trials[0]
	if first.cardName() != card.Name {
		usual := estimate.UsualErrors(s, card)
		return &estimate.Range{Cases: off.Cases, Low: min(off.Low, usual.Low), High: max(off.High, usual.High)}
	}
	return cmp.Or(past.residual(s, card, first.torch()), off)
}

// residual returns the range of these runs' estimation errors.
func (r *Result) residual() *estimate.Range {
	var out *estimate.Range
	for _, t := range r.Trials {
		if t.Comparison == nil || t.Comparison.Estimate.PeakReserved == 0 {
			continue
		}
		off := float64(t.Report.PeakReserved())/float64(t.Comparison.Estimate.PeakReserved) - 1
		if out == nil {
			out = &estimate.Range{Low: off, High: off}
		}
		out.Cases, out.Low, out.High = out.Cases+1, min(out.Low, off), max(out.High, off)
	}
	return out
}
