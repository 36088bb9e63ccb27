// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/setup"
)

// TestLoraParametersGPT2 checks the counts that PEFT 0.19 prints (print_trainable_parameters) for rank 8 on
// GPT-2, whose linear layers are transformers' Conv1D.
func TestLoraParametersGPT2(t *testing.T) {
	for _, c := range []struct {
		targets           string
		trainable, params int
	}{
		{"c_attn", 294912, 124734720},
		{"all-linear", 1179648, 125619456},
		{"c_attn,c_proj,c_fc", 1179648, 125619456},
		{"c_proj", 516096, 124955904},
		{"attn.c_proj", 147456, 124587264},
		{"attn.c_proj,mlp.c_proj", 516096, 124955904},
		{"lm_head", 408200, 124848008},
	} {
		t.Run(c.targets, func(t *testing.T) {
			s := gpt2Lora(strings.Split(c.targets, ",")...)
			s.Steps = 0
			r, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Trainable != c.trainable || r.Params != c.params {
				t.Errorf("%d of %d are trained, want %d of %d", r.Trainable, r.Params, c.trainable, c.params)
			}
		})
	}
}

// TestLoraTargetsAreWholeNames checks that a target matches only whole names at the end of a path.
func TestLoraTargetsAreWholeNames(t *testing.T) {
	for _, target := range []string{"proj", "n.c_proj", "attn", "transformer", ".c_attn", "c_attn."} {
		if _, err := Run(gpt2Lora(target), Options{}); err == nil || !strings.Contains(err.Error(), "it has c_attn, c_proj, c_fc, lm_head") {
			t.Errorf("target %q: %v", target, err)
		}
	}
}

func gpt2Lora(targets ...string) *setup.Setup {
	return &setup.Setup{
		Model: setup.Model{Config: map[string]any{"model_type": "gpt2"}, Head: "causal-lm"},
		Batch: 1, Seq: 16, Precision: "fp32", Optimizer: "adamw", Attention: "sdpa", Steps: 1,
		LoRA: &setup.LoRA{Rank: 8, Targets: targets},
	}
}
