// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"

	"snug/internal/allocator"
)

// The quick way gives what the allocator gives, over all recordings.
func TestQuickIsTheAllocator(t *testing.T) {
	for model, l := range ladders(t) {
		if len(l.inputs) < 2 {
			continue
		}
		p := fitted(t, l.inputs...)
		for batch := int64(1); batch < 100; batch += 1 + batch/2 {
			at := Point{"batch": batch}
			got, err := p.Predict(at)
			if err != nil {
				t.Fatal(model, err)
			}
			run, err := p.Run(at)
			if err != nil {
				t.Fatal(model, err)
			}
			a, err := allocator.New(allocator.NewDriver(endless, 0), p.Torch, p.Options)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Restore(run.Start); err != nil {
				t.Fatal(err)
			}
			want, err := a.Play(run.Trace, allocator.PlayOptions{})
			if err != nil {
				t.Fatal(model, err)
			}
			if got.PeakAllocated != want.PeakAllocated || got.PeakReserved != want.PeakReserved {
				t.Errorf("%s at %v: %d and %d, want %d and %d", model, at, got.PeakAllocated, got.PeakReserved, want.PeakAllocated, want.PeakReserved)
			}
		}
	}
}
