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

// reservedAt returns a function that plays a program at a size and returns its peak.
func reservedAt(at Point) func(*Program) (uint64, error) {
	return func(p *Program) (uint64, error) {
		got, err := p.Predict(at)
		if err != nil {
			return 0, err
		}
		return got.PeakReserved, nil
	}
}

// around returns the interval that Margin gives at a size, widened to at least one segment on each side.
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

// inside returns how many measured runs are within their intervals, and the average interval width.
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
				t.Logf("%s: %d is outside %d to %d", r.Setup.ID, real, low, high)
			}
		}
	}
	return in, all, width / float64(all)
}

// TestMarginHoldsTheTruth checks that all measured runs are within their intervals, including the one that skipped an
// update. If all convolutions are treated as unmeasured, a few runs may be outside.
func TestMarginHoldsTheTruth(t *testing.T) {
	for _, c := range []struct {
		strange bool
		outside int
		width   float64
	}{{false, 0, 0.03}, {true, 1, 0.11}} {
		in, all, width := inside(t, c.strange)
		t.Logf("convolutions unmeasured: %v; %d of %d inside, %.1f %% wide on average", c.strange, in, all, 100*width)
		if all < 28 || in < all-c.outside || width > c.width {
			t.Errorf("%d of %d are inside, want all but %d; %.3f wide, want at most %.3f", in, all, c.outside, width, c.width)
		}
	}
}

// odd returns a step with workspaces of random sizes between tensors that grow with the batch.
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

// TestMarginHasCauses checks that a margin wider than a segment has a cause, and that recorded sizes have no margin.
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
				t.Errorf("at %d: %+v, although the size is below all recorded ones", batch, m)
			}
		}
	})
}
