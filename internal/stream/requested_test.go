// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPeakRequested compares the count over folded loops with the count over all iterations.
func TestPeakRequested(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawLoop(t).fold(t, rapid.IntRange(12, 60).Draw(t, "iterations"))
		all, _ := f.Unfold()
		until := rapid.IntRange(0, len(f.Trace.Events)).Draw(t, "until")
		for _, l := range f.Loops() {
			if l.From < until && until < l.To {
				until = l.To
			}
		}
		events := all.Events
		if until > 0 {
			events = events[:f.At(until)]
		}
		var now, want uint64
		sizes := map[uint32]uint64{}
		for _, e := range events {
			switch e.Kind {
			case Alloc:
				sizes[e.ID] = e.Size
				now += e.Size
				want = max(want, now)
			case Free:
				now -= sizes[e.ID]
			}
		}
		if got := f.PeakRequested(until); got != want {
			t.Fatalf("%d bytes before event %d, want %d", got, until, want)
		}
	})
}

// TestPeakRequestedBeyondAnyMemory checks that huge sizes do not overflow the counter.
func TestPeakRequestedBeyondAnyMemory(t *testing.T) {
	for _, size := range []uint64{1 << 50, 1 << 55, 1<<64 - 1} {
		f := loop{sizes: []uint64{size}, fates: []int{backAgain}}.fold(t, 1<<20)
		if got := f.PeakRequested(0); got < plenty {
			t.Errorf("iterations that keep %d bytes: got %d", size, got)
		}
	}
}
