// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
)

// measuredAs returns n cases of a setup with the same error in both directions.
func measuredAs(t *testing.T, card, torch string, n int, off float64, f map[string]any) (out []Case) {
	t.Helper()
	s := named(t, f)
	for i := range n {
		out = append(out, Case{Card: card, Torch: torch, Setup: s, Off: off * float64(1-2*(i%2))})
	}
	return out
}

func cardNamed(t *testing.T, name string) gpu.Card {
	t.Helper()
	card, err := gpu.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// TestEvidenceWidens checks that an interval is based on the narrowest kind with three measured runs, and names that
// kind.
func TestEvidenceWidens(t *testing.T) {
	var cases []Case
	add := func(more []Case) { cases = append(cases, more...) }
	add(measuredAs(t, "H200", "2.11", 4, 0.01, fields("gpt2", nil)))
	add(measuredAs(t, "H200", "2.11", 3, 0.02, fields("bert-base", map[string]any{"checkpointing": true})))
	add(measuredAs(t, "H200", "2.11", 2, 0.03, fields("opt-125m", map[string]any{"clip": true})))
	add(measuredAs(t, "A100-80GB", "2.11", 2, 0.04, fields("gpt2", nil)))
	add(measuredAs(t, "H200", "2.8", 3, 0.05, fields("bert-base", nil)))
	r := NewResiduals(cases)
	ddp := map[string]any{"dist": map[string]any{"kind": "ddp", "world": 2.0}}
	for _, c := range []struct {
		name string
		card string
		f    map[string]any
		far  float64
		from string
	}{
		{"measured", "H200", fields("gpt2", nil), 0.01, "4 runs of gpt2 on H200, PyTorch 2.11"},
		{"the same chip", "H100-80GB", fields("gpt2", nil), 0.01, "4 runs of gpt2 on H200, PyTorch 2.11"},
		{"option of other families", "H200", fields("gpt2", map[string]any{"checkpointing": true}), 0.02, "3 runs with checkpointing on H200, PyTorch 2.11"},
		{"option hardly measured", "H200", fields("gpt2", map[string]any{"clip": true}), 0.03, "9 runs on H200, PyTorch 2.11"},
		{"family hardly measured", "H200", fields("opt-125m", nil), 0.03, "9 runs on H200, PyTorch 2.11"},
		{"over several GPUs", "H200", fields("gpt2", ddp), 0.03, "9 runs on H200, PyTorch 2.11"},
		{"another version on that card", "H200", fields("gpt2", map[string]any{"versions": map[string]any{"torch": "2.4"}}), 0.05, "12 runs on H200, PyTorch 2.11, 2.8; none with PyTorch 2.4"},
		{"a card hardly measured", "A100-80GB", fields("gpt2", nil), 0.04, "11 runs on H200, A100-80GB, PyTorch 2.11; only 2 on A100-80GB"},
		{"another card", "RTX-4090", fields("gpt2", nil), 0.04, "11 runs on H200, A100-80GB, PyTorch 2.11; none on RTX-4090"},
		{"another card and version", "RTX-4090", fields("gpt2", map[string]any{"versions": map[string]any{"torch": "2.4"}}), 0.05, "14 runs on H200, A100-80GB, PyTorch 2.11, 2.8; none on RTX-4090, none with PyTorch 2.4"},
	} {
		got, from := r.About(named(t, c.f), cardNamed(t, c.card))
		if got.Low != -c.far || got.High != c.far || from.String() != c.from {
			t.Errorf("%s: %+v from %s, want %v from %s", c.name, got, from, c.far, c.from)
		}
	}
	unnamed := gpu.ForMemory(24 << 30)
	if _, from := r.About(named(t, fields("gpt2", nil)), unnamed); from.Lacks != "none on this unnamed card" {
		t.Errorf("a card with only a memory size: %s", from)
	}
}

// TestResidualsAreJSON compares the table, which is read line by line, with the result of a JSON decoder.
func TestResidualsAreJSON(t *testing.T) {
	var want Residuals
	if err := json.Unmarshal([]byte(residualsJSON), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, residuals()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(want.Measured) == 0 {
		t.Error("the table is empty")
	}
}
