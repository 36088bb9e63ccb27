// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"slices"
	"testing"

	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// leftOut returns the stream of a run that skips its first updates.
func leftOut(t *testing.T, fields map[string]any, updates int) *stream.Trace {
	t.Helper()
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.Run(s, simulate.Options{Skips: slices.Repeat([]bool{true}, updates)})
	if err != nil {
		t.Fatal(err)
	}
	return r.World.Trace
}

// TestLeavingOutUpdates checks that recordings of runs that skip no update predict runs that do.
func TestLeavingOutUpdates(t *testing.T) {
	for _, optimizer := range []string{"adamw", "adamw-loop", "adamw-fused", "sgd-momentum"} {
		fields := map[string]any{"model": map[string]any{"config": map[string]any{
			"model_type": "llama", "hidden_size": 512.0, "num_hidden_layers": 6.0, "num_attention_heads": 8.0, "intermediate_size": 1536.0, "vocab_size": 8000.0,
		}}, "seq": 128.0, "precision": "amp-fp16", "optimizer": optimizer, "steps": 3.0}
		of := func(batch int64, updates int) *stream.Trace {
			f := maps.Clone(fields)
			f["batch"] = float64(batch)
			return leftOut(t, f, updates)
		}
		p := fitted(t, at(2, of(2, 0)), at(3, of(3, 0)))
		p.Facts.Precision = "amp-fp16"
		ways := p.leavingOut(&p.variants[1])
		if len(ways) != 2 {
			t.Errorf("%s: %d programs, want one without and one with a late update", optimizer, len(ways))
			continue
		}
		for i, updates := range []int{3, 1} {
			got, err := ways[i].Predict(Point{"batch": 9})
			if err != nil {
				t.Fatal(err)
			}
			want := peakOf(t, of(9, updates), p)
			if got.PeakReserved != want.PeakReserved || got.PeakAllocated != want.PeakAllocated {
				t.Errorf("%s without %d updates: %d reserved, %d allocated; simulated %d and %d",
					optimizer, updates, got.PeakReserved, got.PeakAllocated, want.PeakReserved, want.PeakAllocated)
			}
		}
	}
}
