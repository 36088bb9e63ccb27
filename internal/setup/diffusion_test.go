// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"maps"
	"strings"
	"testing"
)

// TestDiffusion checks what diffusers' programs decide themselves, and the errors for what they do not have.
func TestDiffusion(t *testing.T) {
	decode := func(more map[string]any) (*Setup, error) {
		fields := map[string]any{"model": map[string]any{"name": "stable-diffusion-v1-5"}, "batch": 1.0, "precision": "amp-bf16"}
		maps.Copy(fields, more)
		return Decode(fields, Source{})
	}
	s, err := decode(map[string]any{"loop": "diffusers", "lora": map[string]any{"rank": 4.0}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Resolution != usualResolution || s.Weights != BF16 || !s.LoRA.PEFT || len(s.LoRA.Targets) != 4 {
		t.Errorf("resolution %d, weights %s, adapters %+v", s.Resolution, s.Weights, s.LoRA)
	}
	for want, more := range map[string]map[string]any{
		"resolution is for diffusion models": {"model": map[string]any{"name": "gpt2"}, "seq": 64.0, "resolution": 512.0},
		"loop diffusers trains diffusion":    {"model": map[string]any{"name": "gpt2"}, "seq": 64.0, "loop": "diffusers"},
		"choose amp-bf16":                    {"precision": "bf16"},
		"weights bf16: diffusers' programs":  {"weights": "bf16"},
		"attention eager is not simulated":   {"attention": "eager"},
		"fsdp2 is not simulated":             {"dist": map[string]any{"kind": "fsdp2", "world": 2.0}},
		"evaluation: diffusers' programs":    {"evaluation": map[string]any{"batch": 1.0, "every": 1.0}},
	} {
		if _, err := decode(more); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", more, err, want)
		}
	}
}
