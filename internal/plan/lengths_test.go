// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

func varying(t *testing.T, card string) (*Plan, *setup.Setup) {
	t.Helper()
	s, err := setup.Decode(map[string]any{
		"model": map[string]any{"name": "gpt2"}, "batch": 8.0, "lengths": map[string]any{"uniform": []any{64.0, 512.0}},
	}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	on, err := gpu.Find(card)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Search(Request{Setup: s, Card: on})
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// TestVaryingLengths checks that the figures of a plan are those of the whole run, and that its levers include
// those for varying lengths.
func TestVaryingLengths(t *testing.T) {
	p, s := varying(t, "RTX-4090")
	on, _ := gpu.Find("RTX-4090")
	whole, err := estimate.Figures(s, on)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Current.Estimate.PeakReserved; got != whole.PeakReserved {
		t.Errorf("the current run is shown with %d, but reserves %d", got, whole.PeakReserved)
	}
	var levers []string
	for _, l := range p.Levers {
		levers = append(levers, l.Change)
	}
	for _, want := range []string{"allocator expandable_segments:True", "grouping by length", "padding to multiples of 64", "packing to 512 tokens", "the longest batch first"} {
		if !slices.Contains(levers, want) {
			t.Errorf("no lever %q among %s", want, strings.Join(levers, "; "))
		}
	}
}

// TestVaryingLengthsFitInOtherOrders uses a run that fits in its own order, with 12.02 of 13 GiB, but not in the
// next two orders, which take 13.57 and 16.12 GiB. The recommendation has to stay within the limit in all of them.
func TestVaryingLengthsFitInOtherOrders(t *testing.T) {
	const limit = 13 << 30
	s, err := setup.Decode(map[string]any{
		"model": map[string]any{"name": "gpt2"}, "batch": 8.0, "seed": 3.0, "limit": float64(limit),
		"lengths": map[string]any{"uniform": []any{64.0, 512.0}},
	}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	on, _ := gpu.Find("RTX-4090")
	p, err := Search(Request{Setup: s, Card: on, Lock: []string{"batch", "accumulation", "precision", "optimizer"}})
	if err != nil || p.Recommended == nil {
		t.Fatal(p, err)
	}
	for seed := 3; seed < 6; seed++ {
		x := p.Recommended.settings.on(s)
		x.Seed, x.Limit = seed, 0
		a, err := estimate.Figures(x, on)
		if err != nil || a.PeakReserved > limit {
			t.Errorf("%s takes %d with seed %d, %v", p.Recommended.Change, a.PeakReserved, seed, err)
		}
	}
}
