// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// segment is what an estimate is off by if it is off at all: PyTorch takes
// memory from the driver in pieces of at least this size.
const segment = 20 * units.MiB

// setInterval says where the true peak of reserved bytes is to be expected, and why.
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

// Calibrate narrows or widens the interval to where such estimates have been on
// the machine at hand: measurements of this card and these versions say more
// than those of the reference.
func (a *Answer) Calibrate(here Range) {
	peak := float64(a.PeakReserved)
	low, high := peak*(1+here.Low)-segment, peak*(1+here.High)+segment
	a.Interval = [2]uint64{uint64(max(low, 0)), uint64(high)}
	a.Here, a.measured, a.Causes, a.Uncertain, a.Evidence = here.Cases, &here, nil, nil, nil
}

// Around is where the truth is to be expected of a run that reserves between so much
// and so much, whichever way it goes.
func (r Range) Around(least, most uint64) [2]uint64 {
	low, high := float64(least), float64(most)
	return [2]uint64{uint64(max(low-max(-r.Low*low, segment), 0)), uint64(high + max(r.High*high, segment))}
}

// High is how much more than an estimate a run of this kind may reserve on a card,
// given how far off estimates have been: here, where it was measured, else elsewhere.
func High(s *setup.Setup, card gpu.Card, peak uint64, here *Range) uint64 {
	r := Usual(s, card)
	if here != nil {
		r = *here
	}
	return uint64(max(r.High*float64(peak), segment))
}

// Usual is how far off estimates of such runs on a card have been.
func Usual(s *setup.Setup, card gpu.Card) Range {
	if p := Profile(s); p != nil {
		return outsideProfile(s).with(p.Residual())
	}
	r, _ := residuals().About(s, card)
	return r
}
