// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"

	"snug/internal/allocator"
)

// TestPredictPeaksIsTheAllocator checks that the fast path gives the allocator's peaks for all recordings, also with
// other memory allocated, and that Requested is a lower bound.
func TestPredictPeaksIsTheAllocator(t *testing.T) {
	for model, l := range ladders(t) {
		if len(l.inputs) < 2 {
			continue
		}
		p := fitted(t, l.inputs...)
		for batch := int64(1); batch < 100; batch += 1 + batch/2 {
			at, kept := Point{"batch": batch}, uint64(batch%3)*123_456_789
			got, err := p.PredictBeside(at, kept)
			if err != nil {
				t.Fatal(model, err)
			}
			want, stats := played(t, p, at, kept)
			if got.PeakAllocated != want.PeakAllocated || got.PeakReserved != want.PeakReserved {
				t.Errorf("%s at %v: %d and %d, want %d and %d", model, at, got.PeakAllocated, got.PeakReserved, want.PeakAllocated, want.PeakReserved)
			}
			asked, err := p.Requested(at)
			if err != nil {
				t.Fatal(model, err)
			}
			if asked+kept < stats.RequestedBytes.All.Peak || asked > want.PeakAllocated-kept/2 {
				t.Errorf("%s at %v: Requested is %d, but %d were requested and %d allocated", model, at, asked, stats.RequestedBytes.All.Peak-kept, want.PeakAllocated)
			}
		}
	}
}

// played returns the peaks from playing a size through the allocator, with kept other bytes allocated.
func played(t *testing.T, p *Program, at Point, kept uint64) (allocator.Result, allocator.Stats) {
	t.Helper()
	run, err := p.Run(at)
	if err != nil {
		t.Fatal(err)
	}
	a, err := allocator.New(allocator.NewDriver(endless, 0), p.Torch, p.Options)
	if err == nil {
		err = a.Restore(run.Start)
	}
	if err == nil && kept > 0 {
		_, err = a.Alloc(kept, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Play(run.Trace, allocator.PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got, a.Stats()
}
