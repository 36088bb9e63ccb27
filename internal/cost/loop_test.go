// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/shadow"
)

// TestTimes checks that work recorded once and repeated takes as long as if it were recorded each time.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		write := func(tape *Tape, what []int) {
			for _, x := range what {
				switch x % 4 {
				case 0:
					tape.Host(shadow.HostWork(x / 4 % 6))
				case 1:
					tape.Kernel(shadow.Kernel{Bytes: float64(x) * 1e5})
				case 2:
					tape.Joins(shadow.Kernel{Bytes: float64(x) * 1e6})
				case 3:
					switch x / 4 % 8 {
					case 0:
						tape.Sync()
					case 1:
						tape.Send(shadow.Kernel{Work: shadow.Gathering, B: 8, Bytes: float64(x) * 1e5})
					case 2:
						tape.Send(shadow.Kernel{Work: shadow.Reducing, B: 8, Bytes: float64(x) * 1e5})
					case 3:
						tape.Receive(shadow.Gathering)
					case 4:
						tape.Receive(shadow.Reducing)
					}
				}
			}
		}
		work := rapid.SliceOfN(rapid.IntRange(0, 2000), 0, 12)
		before, body, after := work.Draw(t, "before"), work.Draw(t, "body"), work.Draw(t, "after")
		n, more := rapid.IntRange(2, 700).Draw(t, "times"), rapid.Bool().Draw(t, "more")
		folded, whole := &Tape{}, &Tape{}
		write(folded, before)
		folded.Times(n)
		write(folded, body)
		folded.Times(1)
		write(folded, after)
		write(whole, before)
		for range n {
			write(whole, body)
		}
		write(whole, after)
		seconds := func(tape *Tape) float64 {
			k := newClock(h200, Calibrated)
			tape.play(k, tape.timed(k), more)
			return k.seconds(1)
		}
		if got, want := seconds(folded), seconds(whole); math.Abs(got/want-1) > 1e-12 {
			t.Fatalf("%v s, want %v s", got, want)
		}
	})
}
