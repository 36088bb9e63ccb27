// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// segment is the smallest error of an inexact estimate: PyTorch reserves memory in pieces of at least this size.
const segment = allocator.LargeBuffer

// setInterval sets the interval in which the peak of reserved bytes is expected, and its causes: the unknowns in
// uncertainty.go and the errors in residuals.go.
func (a *Answer) setInterval() error {
	if Profile(a.Setup) != nil {
		m, err := margin(a.Setup, a.Card, a.PeakReserved)
		a.Causes = m.Causes
		a.Interval = [2]uint64{a.PeakReserved - min(m.Less, a.PeakReserved), a.PeakReserved + m.More}
		return err
	}
	var err error
	if a.Uncertain, err = a.uncertainties(); err != nil {
		return err
	}
	r, from := residuals().About(a.Setup, a.Card)
	least, most := a.Ends()
	a.Interval, a.Evidence = r.Around(least, most), &from
	return nil
}

// Calibrate sets the interval from the errors of estimates on this machine. Measurements on this card with these
// versions are better evidence than those on the reference card.
func (a *Answer) Calibrate(here Range) {
	peak := float64(a.PeakReserved)
	low, high := peak*(1+here.Low)-segment, peak*(1+here.High)+segment
	a.Interval = [2]uint64{uint64(max(low, 0)), uint64(high)}
	a.Here, a.measured, a.Causes, a.Uncertain, a.Evidence = here.Cases, &here, nil, nil, nil
	a.holdSpread()
}

// Around returns the interval in which the peak is expected, for a run that reserves between least and most bytes.
func (r Range) Around(least, most uint64) [2]uint64 {
	low, high := float64(least), float64(most)
	return [2]uint64{uint64(max(low-max(-r.Low*low, segment), 0)), uint64(high + max(r.High*high, segment))}
}

// High returns how much more than estimated a run of this kind may reserve on a card, based on the errors of past
// estimates: those on this machine if there are any, otherwise those in the table of residuals.
func High(s *setup.Setup, card gpu.Card, peak uint64, here *Range) uint64 {
	r := UsualErrors(s, card)
	if here != nil {
		r = *here
	}
	return uint64(max(r.High*float64(peak), segment))
}

// UsualErrors returns the range of estimation errors for runs of this kind on a card.
func UsualErrors(s *setup.Setup, card gpu.Card) Range {
	if p := Profile(s); p != nil {
		return outsideProfile(s).with(p.Residual())
	}
	r, _ := residuals().About(s, card)
	return r
}

// MightNotFit reports whether the run would not fit if the estimate were off by as much as past estimates have
// been.
func (a *Answer) MightNotFit() bool {
	limit, total := a.Setup.Limit, a.Card.Total
	return limit > 0 && a.Interval[1] > limit || total > 0 && a.Interval[1]+a.Outside > total
}
