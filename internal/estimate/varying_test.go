// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"slices"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

func drawn(t *testing.T, seed int) *setup.Setup {
	t.Helper()
	return named(t, map[string]any{
		"model": map[string]any{"name": "gpt2"}, "batch": 8.0, "seed": float64(seed),
		"lengths": map[string]any{"uniform": []any{64.0, 512.0}},
	})
}

// TestSpreadOverOrders checks that the interval of a run with randomly drawn lengths covers the memory that runs
// with other seeds reserve.
func TestSpreadOverOrders(t *testing.T) {
	a, err := Estimate(drawn(t, 3), gpu.Card{})
	if err != nil {
		t.Fatal(err)
	}
	var peaks []uint64
	for seed := 3; seed < 3+orders; seed++ {
		b, err := Figures(drawn(t, seed), gpu.Card{})
		if err != nil {
			t.Fatal(err)
		}
		peaks = append(peaks, b.PeakReserved)
	}
	least, most := slices.Min(peaks), slices.Max(peaks)
	if got := a.Lengths.Spread; a.Lengths.Orders != orders || got == nil || *got != [2]uint64{least, most} {
		t.Errorf("spread %v over %d orders, but %d orders reserve %d to %d", got, a.Lengths.Orders, orders, least, most)
	}
	if a.Interval[0] > least || a.Interval[1] < most {
		t.Errorf("interval %v does not contain %d to %d", a.Interval, least, most)
	}
}

// TestGrowth compares the growth with shorter runs with the same lengths.
func TestGrowth(t *testing.T) {
	s := drawn(t, 0)
	a, err := Estimate(s, gpu.Card{})
	if err != nil {
		t.Fatal(err)
	}
	v := a.Lengths
	if len(v.Growth) != 3 || v.Growth[2] != [2]uint64{40, a.PeakReserved} {
		t.Fatalf("%v, with a peak of %d", v.Growth, a.PeakReserved)
	}
	for _, g := range v.Growth {
		short := *s
		short.Steps = int(g[0])
		b, err := Figures(&short, gpu.Card{})
		if err != nil || b.PeakReserved != g[1] {
			t.Errorf("after %d steps %d, but a run of that length reserves %d, %v", g[0], g[1], b.PeakReserved, err)
		}
	}
	before, upTo := *s, *s
	before.Steps, upTo.Steps = v.PeakStep-1, v.PeakStep
	b, _ := Figures(&before, gpu.Card{})
	c, _ := Figures(&upTo, gpu.Card{})
	if b.PeakReserved >= a.PeakReserved || c.PeakReserved != a.PeakReserved || v.PeakAt != slices.Max(s.Tokens()[v.PeakStep-1]) {
		t.Errorf("the peak %d is not in step %d: %d before, %d after it", a.PeakReserved, v.PeakStep, b.PeakReserved, c.PeakReserved)
	}
}

// TestListedLengthsHaveNoSpread checks that a list of lengths is played in its order.
func TestListedLengthsHaveNoSpread(t *testing.T) {
	s := named(t, map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 2.0, "lengths": []any{64.0, 200.0, 90.0}})
	a, err := Estimate(s, gpu.Card{})
	if err != nil || a.Lengths.Spread != nil || a.Lengths.Longest != 200 || a.Lengths.Steps != 3 {
		t.Errorf("%+v, %v", a.Lengths, err)
	}
}
