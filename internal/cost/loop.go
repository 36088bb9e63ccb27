// SPDX-License-Identifier: Apache-2.0

package cost

import "math"

// span is the effect of some work on the clocks, independent of their current values. Work only adds to a clock,
// or waits for the latest of several. It is therefore a matrix over the (max, +) semiring, where max replaces
// addition and addition replaces multiplication, and repeating the work a thousand times is the thousandth power
// of that matrix. Row i gives the time at which clock i ends: max over j of clock j + s[i][j].
type span [clocks][clocks]float64

// spanOf plays work once for each clock, starting with only that clock at a finite time.
func spanOf(k *clock, play func(*clock)) (s span) {
	for from := range s {
		c := clock{rates: k.rates, c: k.c}
		for i, at := range c.all() {
			*at = math.Inf(-1)
			if i == from {
				*at = 0
			}
		}
		play(&c)
		for i, at := range c.all() {
			s[i][from] = *at
		}
	}
	return s
}

// then returns the span of s followed by t.
func (s span) then(t span) (out span) {
	for i := range out {
		for j := range out[i] {
			out[i][j] = math.Inf(-1)
			for via := range s {
				out[i][j] = max(out[i][j], t[i][via]+s[via][j])
			}
		}
	}
	return out
}

// times returns the span of s repeated n times; n must be at least 1.
func (s span) times(n int) span {
	var out span
	some := false
	for ; n > 0; n, s = n/2, s.then(s) {
		switch {
		case n%2 == 0:
		case some:
			out = out.then(s)
		default:
			out, some = s, true
		}
	}
	return out
}

// pass applies a span to the clock.
func (k *clock) pass(s span) {
	before := *k
	for i, at := range k.all() {
		*at = math.Inf(-1)
		for j, was := range before.all() {
			*at = max(*at, *was+s[i][j])
		}
	}
}
