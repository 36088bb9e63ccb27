// SPDX-License-Identifier: Apache-2.0

package profile

import "math"

// Facts is everything recorded besides the streams. Unknown fields are zero; recordings made by hand have none.
type Facts struct {
	Model         string   `json:"model,omitempty"`         // class of the trained module
	Params        int      `json:"params,omitempty"`        // number of parameters
	Trainable     int      `json:"trainable,omitempty"`     // number of trained parameters
	Parameters    uint64   `json:"parameters,omitempty"`    // bytes of parameters and buffers on the card
	Gradients     uint64   `json:"gradients,omitempty"`     // bytes of gradients once all are allocated
	States        uint64   `json:"states,omitempty"`        // bytes of the optimizer's states
	Optimizer     string   `json:"optimizer,omitempty"`     // class, such as AdamW
	Precision     string   `json:"precision,omitempty"`     // the precision, spelled as in setups
	Checkpointing *bool    `json:"checkpointing,omitempty"` // activation checkpointing
	Accumulation  int      `json:"accumulation,omitempty"`  // backward passes per step
	World         int      `json:"world,omitempty"`         // processes that trained together
	Stacks        bool     `json:"stacks,omitempty"`        // stacks were recorded too, which slows down a step
	Timings       []Timing `json:"timings,omitempty"`       // step times by size
}

// Timing is the duration of an optimizer step at a size.
type Timing struct {
	At      Point   `json:"at"`      // the size
	Seconds float64 `json:"seconds"` // seconds per step
}

// Seconds returns the time of one forward and backward pass at a size, with its share of the optimizer step. It is a
// straight line through the measured times over the product of the quantities, or 0 if nothing was timed. grows is
// false if the recorded sizes were too small, or the clock too coarse, to show that more samples take more time.
func (p *Program) Seconds(at Point) (seconds float64, grows bool) {
	var xs, ys []float64
	for _, t := range p.Facts.Timings {
		if t.Seconds > 0 && !math.IsInf(t.Seconds, 0) {
			xs, ys = append(xs, p.work(t.At)), append(ys, t.Seconds/float64(max(p.Facts.Accumulation, 1)))
		}
	}
	if len(xs) == 0 {
		return 0, false
	}
	base, slope := line(xs, ys)
	return base + slope*p.work(at), slope > 0
}

// work returns the size as one number: batch times seq times the other quantities.
func (p *Program) work(at Point) float64 {
	x := 1.0
	for _, name := range p.Names {
		x *= float64(max(at[name], 1))
	}
	return x
}

// line returns the straight line nearest to the points that neither decreases nor starts below zero: more work never
// makes a step faster.
func line(xs, ys []float64) (base, slope float64) {
	n := float64(len(xs))
	var mx, my, xy, xx float64
	for i := range xs {
		mx, my = mx+xs[i]/n, my+ys[i]/n
	}
	for i := range xs {
		xy, xx = xy+(xs[i]-mx)*(ys[i]-my), xx+(xs[i]-mx)*(xs[i]-mx)
	}
	if xx > 0 {
		slope = max(xy/xx, 0)
	}
	if base = my - slope*mx; base < 0 {
		return 0, my / mx
	}
	return base, slope
}

// sane reports whether the facts are possible; those in a damaged file may not be.
func (f *Facts) sane() bool {
	const most = 1 << 50
	bytes := f.Parameters < most && f.Gradients < most && f.States < most
	counts := f.Params >= 0 && f.Trainable >= 0 && f.Trainable <= f.Params
	for _, t := range f.Timings {
		if !(t.Seconds > 0 && t.Seconds < most) {
			return false
		}
	}
	return bytes && counts && f.Accumulation >= 0 && f.Accumulation <= maxQuantity && f.World >= 0 && f.World <= 1<<16
}
