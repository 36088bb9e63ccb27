// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
)

// TestAdaptersOfLibrary checks that the LoRA lever makes the same adapters as the run's library.
func TestAdaptersOfLibrary(t *testing.T) {
	llama := setup.Model{Config: map[string]any{"model_type": "llama", "dtype": "bfloat16"}}
	for name, x := range map[string]struct {
		today, to string // precision of the current run, and of the planned one
		library   Library
		precision string
		peft      bool
		weights   string
	}{
		"no library":             {"fp32", "fp32", Library{}, "fp32", false, ""},
		"PEFT":                   {"amp-bf16", "amp-bf16", Library{PEFT: true}, "amp-bf16", true, ""},
		"as saved":               {"amp-bf16", "amp-bf16", Library{PEFT: true, Weights: setup.Saved}, "amp-bf16", true, "bf16"},
		"autocast with adapters": {"bf16", "bf16", Library{true, "bf16", "amp-bf16"}, "amp-bf16", true, "bf16"},
		"another precision":      {"amp-bf16", "bf16", Library{true, "bf16", "amp-bf16"}, "bf16", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := &setup.Setup{Model: llama, Batch: 1, Precision: x.today}
			with := settingsOf(base)
			with.precision, with.lora = x.to, adapters{usualRank, x.library}
			got := with.on(base)
			want := &setup.LoRA{Rank: 16, Alpha: 32, Targets: []string{"q_proj", "v_proj"}, PEFT: x.peft}
			if diff := cmp.Diff(want, got.LoRA); diff != "" || got.Precision != x.precision || got.Weights != x.weights {
				t.Errorf("precision %s, want %s; weights %q, want %q; -want +got\n%s", got.Precision, x.precision, got.Weights, x.weights, diff)
			}
			if base.LoRA != nil {
				t.Error("the original run was changed")
			}
		})
	}
}

// TestWeightsGoWithAutocast checks that without autocast the weights have the type of the precision, and that a
// gradient scaler needs float32 trained weights.
func TestWeightsGoWithAutocast(t *testing.T) {
	saved := setup.Model{Config: map[string]any{"model_type": "llama", "dtype": "bfloat16"}}
	for _, c := range []struct {
		from, loaded, to string
		trained, frozen  string
	}{
		{"amp-bf16", "bf16", "amp-bf16", "bf16", "bf16"},
		{"amp-bf16", "bf16", "bf16", "", ""},
		{"amp-bf16", "bf16", "amp-fp16", "", "fp16"},
		{"amp-bf16", "fp16", "amp-fp16", "", "fp16"},
		{"amp-fp16", "bf16", "amp-bf16", "bf16", "bf16"},
		{"amp-bf16", "", "amp-fp16", "", ""},
		{"amp-bf16", setup.Saved, "amp-fp16", "", "bf16"},
		{"fp32", setup.Saved, "amp-bf16", "bf16", "bf16"},
		{"bf16", "bf16", "amp-bf16", "bf16", "bf16"},
	} {
		for want, adapters := range map[*string]*setup.LoRA{&c.trained: nil, &c.frozen: {Rank: 8, PEFT: true}} {
			base := &setup.Setup{Model: saved, Precision: c.from, Loaded: c.loaded, LoRA: adapters}
			base.Weights = base.WeightsUnder(c.from)
			x, held := settingsOf(base), base.Weights
			x.precision = c.to
			if got := x.on(base).Weights; got != *want || base.Weights != held {
				t.Errorf("%s loaded as %s, to %s: %q, want %q; the run itself changed from %q to %q", c.from, c.loaded, c.to, got, *want, held, base.Weights)
			}
		}
	}
}
