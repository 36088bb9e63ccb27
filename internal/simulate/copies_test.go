// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/allocator"
)

// TestCopiesPassed plays every measured case, with more micro-batches and steps than were measured, in full and
// with copies skipped, and checks that the allocator ends in the same state.
func TestCopiesPassed(t *testing.T) {
	passed := 0
	for _, row := range measuredRows(t) {
		s := row.Setup
		s.Accumulation, s.Steps = 4, 4
		res, err := Run(&s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		play := func(o allocator.PlayOptions, conf string) (allocator.Result, allocator.Stats, int) {
			version := allocator.Version{Major: 2, Minor: 11}
			opt, err := allocator.ParseOptions(conf, version)
			if err != nil {
				t.Fatal(err)
			}
			a, err := allocator.New(allocator.NewDriver(1<<58, 0), version, opt)
			if err != nil {
				t.Fatal(err)
			}
			events := 0
			o.Observe = func(int) { events++ }
			got, err := a.Play(res.World.Trace, o)
			if err != nil {
				t.Fatal(err)
			}
			return got, a.Stats(), events
		}
		for _, conf := range []string{"", "expandable_segments:True"} {
			whole, all, n := play(allocator.PlayOptions{}, conf)
			short, some, m := play(allocator.PlayOptions{PassCopies: true}, conf)
			if m < n {
				passed++
			}
			if diff := cmp.Diff(whole, short); diff != "" {
				t.Errorf("%s %s: (-whole +passed)\n%s", s.ID, conf, diff)
			}
			if diff := cmp.Diff(levels(all), levels(some)); diff != "" {
				t.Errorf("%s %s: (-whole +passed)\n%s", s.ID, conf, diff)
			}
		}
	}
	if passed < 100 {
		t.Errorf("only %d plays had copies to skip", passed)
	}
}

// levels returns the memory at the end and at the peak, without the counts.
func levels(s allocator.Stats) [][2]uint64 {
	var out [][2]uint64
	for _, p := range []allocator.ByPool{s.AllocatedBytes, s.ActiveBytes, s.ReservedBytes, s.Segment, s.InactiveSplit, s.InactiveSplitBytes} {
		for _, x := range []allocator.Stat{p.All, p.Small, p.Large} {
			out = append(out, [2]uint64{x.Current, x.Peak})
		}
	}
	return out
}
