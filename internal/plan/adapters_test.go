// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
)

// The LoRA that a lever adds is the one that the run's library would.
func TestAdaptersOfLibrary(t *testing.T) {
	llama := setup.Model{Config: map[string]any{"model_type": "llama", "dtype": "bfloat16"}}
	for name, x := range map[string]struct {
		today, to string // precisions: of the run, and of the settings
		library   Library
		precision string
		peft      bool
		base      string
	}{
		"no library":        {"fp32", "fp32", Library{}, "fp32", false, ""},
		"PEFT":              {"amp-bf16", "amp-bf16", Library{PEFT: true}, "amp-bf16", true, ""},
		"as saved":          {"amp-bf16", "amp-bf16", Library{PEFT: true, Base: setup.Saved}, "amp-bf16", true, "bf16"},
		"autocast with it":  {"bf16", "bf16", Library{true, "bf16", "amp-bf16"}, "amp-bf16", true, "bf16"},
		"another precision": {"amp-bf16", "bf16", Library{true, "bf16", "amp-bf16"}, "bf16", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := &setup.Setup{Model: llama, Batch: 1, Precision: x.today}
			with := settingsOf(base)
			with.precision, with.lora = x.to, adapters{usualRank, x.library}
			got := with.on(base)
			want := &setup.LoRA{Rank: 16, Alpha: 32, Targets: []string{"q_proj", "v_proj"}, PEFT: x.peft, Base: x.base}
			if diff := cmp.Diff(want, got.LoRA); diff != "" || got.Precision != x.precision {
				t.Errorf("precision %s, want %s; -want +got\n%s", got.Precision, x.precision, diff)
			}
			if base.LoRA != nil {
				t.Error("the run itself has adapters now")
			}
		})
	}
}

// Without autocast the frozen weights have the type of the precision.
func TestBaseGoesWithAutocast(t *testing.T) {
	for _, c := range []struct{ from, held, to, want string }{
		{"amp-bf16", "bf16", "amp-bf16", "bf16"},
		{"amp-bf16", "bf16", "bf16", ""},
		{"amp-bf16", "bf16", "amp-fp16", "fp16"},
		{"amp-bf16", "fp16", "amp-fp16", "fp16"},
		{"amp-fp16", "bf16", "amp-bf16", "bf16"},
		{"amp-bf16", "", "amp-fp16", ""},
	} {
		base := &setup.Setup{Precision: c.from, LoRA: &setup.LoRA{Rank: 8, Base: c.held}}
		x := settingsOf(base)
		x.precision = c.to
		if got := x.on(base).LoRA.Base; got != c.want || base.LoRA.Base != c.held {
			t.Errorf("%s on %s, to %s: %q, want %q; the run itself has %q", c.from, c.held, c.to, got, c.want, base.LoRA.Base)
		}
	}
}
