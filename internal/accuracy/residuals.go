// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"encoding/json"
	"math"

	"snug/internal/estimate"
)

// Off returns how far the measurement is outside the bounds of the estimate, as a share of the nearer bound. The
// bounds cover what cannot be known before the run, so a measurement inside them is not off.
func (c *Case) Off() float64 {
	least, most := c.Estimated.Ends()
	truth := c.Measured.PeakReserved
	switch {
	case truth > most:
		return float64(truth)/float64(most) - 1
	case truth < least:
		return float64(truth)/float64(least) - 1
	}
	return 0
}

// measured returns the cases that keep selects, in the form from which intervals are derived.
func measured(cases []*Case, keep func(*Case) bool) (out []estimate.Case) {
	for _, c := range cases {
		if keep(c) {
			out = append(out, estimate.Case{Card: c.Card.Name, Torch: c.torch(), Setup: c.Setup, Off: c.Off()})
		}
	}
	return out
}

// Residuals returns the table behind the intervals of estimates, as JSON.
func (r *Report) Residuals() ([]byte, error) {
	t := estimate.NewResiduals(measured(r.judged(), func(*Case) bool { return true }))
	for _, m := range t.Measured {
		for name, g := range m.Groups {
			m.Groups[name] = rounded(g)
		}
	}
	t.Added, t.Several = rounded(r.Added), r.several()
	out, err := json.MarshalIndent(t, "", " ")
	return append(out, '\n'), err
}

// rounded returns a range rounded outwards to a hundredth of a percent.
func rounded(r estimate.Range) estimate.Range {
	r.Low, r.High = outwards(r.Low, r.High)
	return r
}

func outwards(low, high float64) (float64, float64) {
	return math.Floor(low*1e4) / 1e4, math.Ceil(high*1e4) / 1e4
}

// several returns the lowest and the highest error of runs on several GPUs, by kind of parallelism; "" is all
// kinds.
func (r *Report) several() map[string]estimate.Range {
	out := map[string]estimate.Range{}
	for _, c := range r.judged() {
		if c.Setup.Dist == nil {
			continue
		}
		off := float64(c.Measured.PeakReserved)/float64(c.Estimated.PeakReserved) - 1
		for _, kind := range []string{"", c.Setup.Dist.Kind} {
			g := out[kind]
			out[kind] = estimate.Range{Cases: g.Cases + 1, Low: min(g.Low, off), High: max(g.High, off)}
		}
	}
	for kind, g := range out {
		out[kind] = rounded(g)
	}
	return out
}
