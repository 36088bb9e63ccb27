// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/gpu"
	"snug/internal/stream"
)

// reservedAt plays programs at a size.
func reservedAt(at Point) func(*Program) (uint64, error) {
	return func(p *Program) (uint64, error) {
		got, err := p.Predict(at)
		if err != nil {
			return 0, err
		}
		return got.PeakReserved, nil
	}
}

// around returns where Margin expects the peak of a size, one segment more or less
// included.
func around(t testing.TB, p *Program, at Point) (low, high uint64) {
	t.Helper()
	peak := reservedAt(at)
	said, err := peak(p)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Margin(at, gpu.Card{}, peak)
	if err != nil {
		t.Fatal(err)
	}
	return said - min(max(d.Less, matters), said), said + max(d.More, matters)
}

// inside counts the measured runs that are where they are expected, and the average width of the
// intervals.
func inside(t *testing.T, strange bool) (in, all int, width float64) {
	t.Helper()
	for _, l := range ladders(t) {
		if len(l.inputs) < 2 {
			continue
		}
		f := newFitter(l.inputs)
		f.strange = strange
		p, err := f.fit()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.large {
			if strings.Contains(r.Setup.ID, "-amp-fp16-") {
				p.Facts.Precision = "amp-fp16"
			}
			low, high := around(t, p, Point{"batch": r.Setup.Batch})
			real := r.Measured.PeakReserved
			all++
			width += float64(high-low) / float64(real)
			if low <= real && real <= high {
				in++
			} else {
				t.Logf("%s: %d is not in %d to %d", r.Setup.ID, real, low, high)
			}
		}
	}
	return in, all, width / float64(all)
}

// All measured runs are where Margin expects them, including the one that skipped an update. If none of
// their convolutions had been measured, all but a few would be.
func TestMarginHoldsTheTruth(t *testing.T) {
	for _, c := range []struct {
		strange bool
		outside int
		width   float64
	}{{false, 0, 0.03}, {true, 1, 0.11}} {
		in, all, width := inside(t, c.strange)
		t.Logf("convolutions unmeasured %v: %d of %d inside, %.1f %% wide on average", c.strange, in, all, 100*width)
		if all < 28 || in < all-c.outside || width > c.width {
			t.Errorf("%d of %d are inside, want all but %d; %.3f wide, want at most %.3f", in, all, c.outside, width, c.width)
		}
	}
}

// odd is a step with workspaces of any size between tensors of the batch's.
func odd(t *rapid.T, batch int64) *stream.Trace {
	tr := stream.New(64)
	for i := range 12 {
		kept := tr.Alloc(uint64(batch)*uint64(i+1)<<20, 0)
		tr.Free(tr.Alloc(rapid.Uint64Range(1, 200<<20).Draw(t, "workspace"), 0))
		if i%2 == 0 {
			tr.Free(kept)
		}
	}
	return tr
}

// A margin that is wider than a segment has a cause, and the size of a recording
// has none.
func TestMarginHasCauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := Fit([]Input{at(2, odd(t, 2)), at(3, odd(t, 3))})
		if err != nil {
			t.Skip(err)
		}
		for _, batch := range []int64{1, 2, 3, 7} {
			m, err := p.Margin(Point{"batch": batch}, gpu.Card{}, reservedAt(Point{"batch": batch}))
			if err != nil {
				t.Fatal(err)
			}
			wide := m.Less > matters || m.More > matters
			if wide && len(m.Causes) == 0 || len(m.Causes) > 0 && (batch == 2 || batch == 3) {
				t.Errorf("at %d: %+v", batch, m)
			}
			if batch == 1 && !slices.Contains(m.Causes, Smaller) {
				t.Errorf("at %d: %+v, which is below all that was recorded", batch, m)
			}
		}
	})
}
