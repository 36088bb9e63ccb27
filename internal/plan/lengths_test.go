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

// TestVaryingLengths checks that the figures of a plan are those of the whole run, and that what helps where
// lengths vary is among its levers.
func TestVaryingLengths(t *testing.T) {
	p, s := varying(t, "RTX-4090")
	on, _ := gpu.Find("RTX-4090")
	whole, err := estimate.Figures(s, on)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Current.Estimate.PeakReserved; got != whole.PeakReserved {
		t.Errorf("today is shown with %d, and reserves %d", got, whole.PeakReserved)
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

// TestVaryingLengthsFitInOtherOrders checks that a recommendation fits with other seeds too.
func TestVaryingLengthsFitInOtherOrders(t *testing.T) {
	p, s := varying(t, "RTX-3080")
	on, _ := gpu.Find("RTX-3080")
	if p.Recommended == nil {
		t.Fatal("nothing is recommended")
	}
	for seed := range 3 {
		x := p.Recommended.settings.on(s)
		x.Seed = seed
		a, err := estimate.Figures(x, on)
		if err != nil || !*a.Fits {
			t.Errorf("%v does not fit with seed %d: %v", p.Recommended.Settings, seed, err)
		}
	}
}
