// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// planned returns the plan for a run that is given as fields of a setup.
func planned(t *testing.T, card string, fields map[string]any, allow ...string) *Plan {
	t.Helper()
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := gpu.Find(card)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Search(Request{Setup: s, Card: c, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAllowedLeversMakeRoom asks for LoRA of an 8B model at 4,096 tokens on an RTX 4090. It fits with 97.7 % of the card,
// and a note says what to allow for more room. If Liger's kernels are allowed, they are used, because they leave room and
// are faster; 8-bit states, which would save next to nothing, are not.
func TestAllowedLeversMakeRoom(t *testing.T) {
	fields := map[string]any{
		"model": map[string]any{"name": "llama-3.1-8b"}, "batch": 1.0, "seq": 4096.0, "precision": "bf16",
		"lora": map[string]any{"rank": 16.0, "peft": true},
	}
	p := planned(t, "RTX-4090", fields)
	const room = "--allow liger,quantization looks for settings that leave more"
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, room) }) {
		t.Errorf("the notes %q do not say %q", p.Notes, room)
	}
	p = planned(t, "RTX-4090", fields, "all")
	got := p.Recommended
	if share := float64(got.Estimate.DevicePeak) / float64(p.Card.Total); share > 0.95 {
		t.Errorf("with everything allowed, the plan takes %.1f %% of the card", 100*share)
	}
	if s := got.Estimate.Setup; len(s.Liger) == 0 || s.Optimizer != "adamw-fused" || s.Quantization != nil {
		t.Errorf("with everything allowed, the plan has %v", got.Settings)
	}
}

// TestDoubleQuantizationBeforeShorterSequences asks for QLoRA of a 70B model at 2,048 tokens on an A40, where 1,024 tokens
// at 100 % of the card used to be the advice. Double quantization alone fits only because PyTorch empties its cache.
func TestDoubleQuantizationBeforeShorterSequences(t *testing.T) {
	fields := map[string]any{
		"model": map[string]any{"name": "llama-3.1-70b"}, "batch": 1.0, "seq": 2048.0, "precision": "bf16",
		"lora": map[string]any{"rank": 16.0, "peft": true}, "quantization": map[string]any{"bits": 4.0},
	}
	p := planned(t, "A40", fields)
	if got := strings.Join(p.Flags, " "); p.Recommended != nil || got != "--checkpointing --optimizer adamw-fused --loss liger --liger rope,norm,mlp --bnb-4bit-use-double-quant" {
		t.Errorf("the nearest plan that fits: %s", got)
	}
	p = planned(t, "A40", fields, "quantization", "seq")
	if p.Recommended == nil || p.Recommended.Estimate.Setup.Seq != 2048 || !p.Recommended.Estimate.Setup.Quantization.Double {
		t.Errorf("with quantization and seq allowed: %+v", p.Recommended)
	}
}

// TestRemediesAddSomething checks that no change is listed again with further flags that save nothing.
func TestRemediesAddSomething(t *testing.T) {
	small := Remedy{[]string{"--batch 1"}, 1000}
	for name, x := range map[string]struct {
		other Remedy
		want  int
	}{
		"the same":         {Remedy{[]string{"--batch 1"}, 1000}, 1},
		"more for nothing": {Remedy{[]string{"--batch 1", "--optimizer adamw-fused"}, 999}, 1},
		"more for less":    {Remedy{[]string{"--batch 1", "--checkpointing"}, 700}, 2},
		"another":          {Remedy{[]string{"--checkpointing"}, 1000}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := different([]*Remedy{&small, nil, &x.other}); len(got) != x.want {
				t.Errorf("%v, want %d remedies", got, x.want)
			}
		})
	}
}
