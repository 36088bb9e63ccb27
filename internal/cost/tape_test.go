// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"testing"

	"snug/internal/setup"
	"snug/internal/simulate"
)

// h200 is the card that the constants were calibrated on.
var h200 = Rates{Bandwidth: 4.8e12, Half: 989e12, TF32: 494e12, Single: 67e12, SMs: 132}

// TestTapeIsTheClock times the same run through a tape and directly.
func TestTapeIsTheClock(t *testing.T) {
	for _, accumulation := range []int{1, 3, 8} {
		s, err := setup.Decode(map[string]any{
			"model": map[string]any{"name": "gpt2"}, "batch": 2.0, "seq": 128.0, "precision": "amp-fp16", "clip": true,
			"accumulation": float64(accumulation),
		}, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		clock, tape := NewClock(h200, Calibrated), &Tape{}
		for _, w := range []simulate.Stopwatch{clock, tape} {
			if _, err := simulate.Run(s, simulate.Options{Watch: w}); err != nil {
				t.Fatal(err)
			}
		}
		got, want := tape.Seconds(h200, accumulation), clock.Seconds(accumulation)
		if got != want || want <= 0 {
			t.Errorf("accumulation %d: tape says %v s, clock %v s", accumulation, got, want)
		}
	}
}
