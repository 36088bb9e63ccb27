// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"slices"
	"testing"

	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/setup"
)

// share returns the width of an interval as a fraction of the estimate.
func share(a *Answer) float64 {
	return float64(a.Interval[1]-a.Interval[0]) / float64(a.PeakReserved)
}

// TestUnknownKernelsWiden checks that an estimate reports a kernel fact that is unknown for the card, and has a wider
// interval than on the card where it was measured. The batches are so large that one segment more or less does not
// matter.
func TestUnknownKernelsWiden(t *testing.T) {
	vision := func(name string) map[string]any {
		return map[string]any{"model": map[string]any{"name": "torchvision/" + name}, "batch": 64.0, "precision": "amp-bf16"}
	}
	for _, c := range []struct {
		name string
		f    map[string]any
		fact kernel.Fact
	}{
		{"convolutions", vision("resnet50"), kernel.Convolutions},
		{"another network", vision("convnext_tiny"), kernel.Convolutions},
		{"float32 attention", fields("gpt2", map[string]any{"batch": 8.0, "precision": "fp32"}), kernel.EfficientAttention},
		{"sorted embeddings", fields("bert-base", map[string]any{"batch": 64.0, "seq": 256.0}), kernel.Sorting},
	} {
		s := named(t, c.f)
		here := estimated(t, s, gpu.Reference)
		if len(here.Uncertain) > 0 {
			t.Errorf("%s: %+v is unknown on %s", c.name, here.Uncertain, gpu.Reference.Name)
		}
		for _, name := range []string{"A100-80GB", "RTX-4090"} {
			there := estimated(t, s, cardNamed(t, name))
			is := func(o Uncertainty) bool { return o.What == Kernels && slices.Contains(o.Facts, c.fact) }
			if !slices.ContainsFunc(there.Uncertain, is) {
				t.Errorf("%s on %s: %v is not among %+v", c.name, name, c.fact, there.Uncertain)
			}
			if share(there) <= share(here) {
				t.Errorf("%s on %s: interval is %.4f of the estimate, want more than %.4f as on %s", c.name, name, share(there), share(here), gpu.Reference.Name)
			}
		}
	}
}

// TestUnknownConvolutionsMoveTheEnds checks that unknown kernels widen an interval even before past errors are
// added.
func TestUnknownConvolutionsMoveTheEnds(t *testing.T) {
	s := named(t, map[string]any{"model": map[string]any{"name": "torchvision/resnet50"}, "batch": 64.0, "precision": "amp-bf16"})
	for _, name := range []string{"A100-80GB", "RTX-4090"} {
		a := estimated(t, s, cardNamed(t, name))
		if least, most := a.Ends(); most-least <= segment {
			t.Errorf("%s: between %d and %d", name, least, most)
		}
	}
	if least, most := estimated(t, s, gpu.Reference).Ends(); least != most {
		t.Errorf("%s: between %d and %d", gpu.Reference.Name, least, most)
	}
}

// TestProbeLeavesRoomForWhatIsOpen checks that a planner leaves memory for unknowns: additional buckets, and the
// card's kernels.
func TestProbeLeavesRoomForWhatIsOpen(t *testing.T) {
	ddp := fields("gpt2", map[string]any{"dist": map[string]any{"kind": "ddp", "world": 2.0}})
	conv := map[string]any{"model": map[string]any{"name": "torchvision/resnet18"}, "batch": 64.0, "precision": "fp32"}
	for _, c := range []struct {
		name, card string
		s          *setup.Setup
		least      uint64
	}{
		{"buckets", "H200", named(t, ddp), 4 * 124439808},
		{"kernels", "RTX-4090", named(t, conv), segment},
		{"nothing", "H200", named(t, conv), 0},
	} {
		card := cardNamed(t, c.card)
		p, err := NewProbe(c.s, card)
		if err != nil {
			t.Fatal(err)
		}
		const limit = 16 << 30
		more := p.High(c.s, card, limit) - High(c.s, card, limit, nil)
		if more < c.least || c.least == 0 && more > 0 {
			t.Errorf("%s: %d bytes more, want at least %d", c.name, more, c.least)
		}
	}
}
