// SPDX-License-Identifier: Apache-2.0

package cost

import "math"

// span is the effect of some work on the two clocks, whatever they show. Work only adds to a clock, or
// waits for the later of the two. So it is a matrix over (max, +), where max takes the place of addition
// and addition that of multiplication, and the same work a thousand times is the thousandth power of that
// matrix.
//
//	host   = max(host + s[0][0], device + s[0][1])
//	device = max(host + s[1][0], device + s[1][1])
type span [2][2]float64

// spanOf plays work on two pairs of clocks, in each of which only one clock counts.
func spanOf(k *clock, play func(*clock)) (s span) {
	for from := range s {
		c := clock{rates: k.rates, c: k.c, host: math.Inf(-1), device: math.Inf(-1)}
		if from == 0 {
			c.host = 0
		} else {
			c.device = 0
		}
		play(&c)
		s[0][from], s[1][from] = c.host, c.device
	}
	return s
}

// then returns the span of s followed by t.
func (s span) then(t span) (out span) {
	for i := range out {
		for j := range out[i] {
			out[i][j] = max(t[i][0]+s[0][j], t[i][1]+s[1][j])
		}
	}
	return out
}

// times returns the span of s repeated n times, n being at least 1.
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
	k.host, k.device = max(k.host+s[0][0], k.device+s[0][1]), max(k.host+s[1][0], k.device+s[1][1])
}
