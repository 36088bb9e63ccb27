// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// run returns a setup with the given fields.
func run(t testing.TB, fields map[string]any) *setup.Setup {
	t.Helper()
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func card(t testing.TB, name string) gpu.Card {
	t.Helper()
	c, err := gpu.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func gpt2(t testing.TB, more map[string]any) *setup.Setup {
	fields := map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "accumulation": 8.0, "seq": 512.0}
	for k, v := range more {
		fields[k] = v
	}
	return run(t, fields)
}

// TestEffectiveBatch checks that the effective batch stays the same, in every recommendation and on every rung.
func TestEffectiveBatch(t *testing.T) {
	ddp := map[string]any{"kind": "ddp", "world": 4.0}
	tests := map[string]struct {
		r    Request
		want int
	}{
		"today's":               {Request{Setup: gpt2(t, nil), Card: card(t, "RTX-4090")}, 32},
		"another":               {Request{Setup: gpt2(t, nil), Card: card(t, "RTX-4090"), Target: 48}, 48},
		"four GPUs":             {Request{Setup: gpt2(t, map[string]any{"dist": ddp}), Card: card(t, "RTX-4090"), Target: 256}, 256},
		"not divisible by four": {Request{Setup: gpt2(t, map[string]any{"dist": ddp}), Card: card(t, "RTX-4090"), Target: 255}, 252},
		"batch":                 {Request{Setup: gpt2(t, nil), Card: card(t, "RTX-4090"), Target: 64, Lock: []string{"batch"}}, 64},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Search(tt.r)
			if err != nil {
				t.Fatal(err)
			}
			if p.Recommended == nil {
				t.Fatal("nothing recommended")
			}
			if got := p.Recommended.settings.effective(); got != tt.want {
				t.Errorf("effective batch %d, want %d", got, tt.want)
			}
			if said := len(p.Notes) > 0; said != (tt.want != p.Target) {
				t.Errorf("notes %q for %d instead of %d", p.Notes, tt.want, p.Target)
			}
			for _, r := range p.Ladder {
				if r.Choice != nil && r.settings.effective() != tt.want {
					t.Errorf("%s: effective batch %d, want %d", r.Name, r.settings.effective(), tt.want)
				}
			}
		})
	}
}

// TestLadderCountsEvaluation checks that the figures of a run with an evaluation include the evaluation, and that the
// ladder mentions it.
func TestLadderCountsEvaluation(t *testing.T) {
	for _, evaluates := range []bool{false, true} {
		fields := map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "seq": 128.0}
		if evaluates {
			fields["evaluation"] = map[string]any{"batch": 64.0}
		}
		p, err := Search(Request{Setup: run(t, fields), Card: card(t, "RTX-4090")})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(p.Ladder[0].Risk, "includes the evaluation"); said != evaluates {
			t.Errorf("evaluates is %v, but the first rung's risk is %q", evaluates, p.Ladder[0].Risk)
		}
	}
}
