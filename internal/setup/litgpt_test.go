// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
)

// TestAssumeLitGPT checks that a run with adapters under FSDP1 that are not PEFT's is assumed to be LitGPT's if no
// loop is named, and that this survives a change of accumulation.
func TestAssumeLitGPT(t *testing.T) {
	at := func(more map[string]any) *Setup {
		t.Helper()
		fields := map[string]any{
			"model": map[string]any{"name": "tinyllama-1.1b"}, "batch": 1.0, "seq": 64.0, "accumulation": 4.0, "precision": "bf16",
			"lora": map[string]any{"rank": 8.0, "targets": []any{"q_proj"}}, "dist": map[string]any{"kind": "fsdp1", "world": 2.0},
		}
		for name, value := range more {
			fields[name] = value
		}
		s, err := Decode(fields, Source{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name    string
		more    map[string]any
		assumed bool
	}{
		{"adapters", nil, true},
		{"fsdp2 with an old PyTorch", map[string]any{"dist": map[string]any{"kind": "fsdp2", "world": 2.0}, "versions": map[string]any{"torch": "2.1"}}, true},
		{"fsdp2", map[string]any{"dist": map[string]any{"kind": "fsdp2", "world": 2.0}}, false},
		{"PEFT", map[string]any{"lora": map[string]any{"rank": 8.0, "peft": true}}, false},
		{"clipping", map[string]any{"clip": true}, false},
		{"one micro-batch", map[string]any{"accumulation": 1.0}, false},
		{"another loop", map[string]any{"loop": "fabric"}, false},
	} {
		if s := at(c.more); s.LoopAssumed != c.assumed || s.MixesUnits() != c.assumed || s.HoldsGradients() != c.assumed {
			t.Errorf("%s: assumed %v, mixes units %v, holds gradients %v", c.name, s.LoopAssumed, s.MixesUnits(), s.HoldsGradients())
		}
	}
	if s := at(map[string]any{"loop": "litgpt", "dist": map[string]any{"kind": "fsdp2", "world": 2.0}}); !s.Dist.LoadsSharded() {
		t.Error("LitGPT loads the whole model")
	}
	s := at(nil)
	s.Accumulation = 1
	if !s.MixesUnits() || s.HoldsGradients() {
		t.Errorf("with one micro-batch: mixes units %v, holds gradients %v", s.MixesUnits(), s.HoldsGradients())
	}
}

// TestLitGPTRefuses checks that LitGPT's loop accepts only causal language models.
func TestLitGPTRefuses(t *testing.T) {
	_, err := Decode(map[string]any{"model": map[string]any{"name": "bert-base"}, "batch": 1.0, "seq": 64.0, "loop": "litgpt"}, Source{})
	if err == nil || !strings.Contains(err.Error(), "trains causal language models") {
		t.Errorf("err = %v", err)
	}
}
