// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/pattern/patterntest"
)

func TestPEFTTargets(t *testing.T) {
	for family, want := range map[string][]string{
		"llama": {"q_proj", "v_proj"}, "gpt2": {"c_attn"},
		"bert": {"query", "value"}, "t5": {"q", "v"}, "gpt_neox": {"query_key_value"}, "phi3": nil,
	} {
		s := &Setup{Model: Model{Config: map[string]any{"model_type": family}}, LoRA: &LoRA{PEFT: true}}
		err := s.completeLoRA()
		if (err != nil) != (want == nil) {
			t.Errorf("%s: error %v", family, err)
		}
		if diff := cmp.Diff(want, s.LoRA.Targets); diff != "" {
			t.Errorf("%s: -want +got\n%s", family, diff)
		}
	}
}

// TestAdaptersMadeAt compares the pattern with its regular expression, and checks the lines that it finds.
func TestAdaptersMadeAt(t *testing.T) {
	patterntest.FindAsExpressions(t, "peft.get_peft_model(", newAdapters)
	for text, want := range map[string]int{
		"import peft\nm = peft.get_peft_model(m, c)\n": 2,
		"\n\nc = LoraConfig(r=8)\n":                    3,
		"# c = LoraConfig(r=8)\n":                      0,
		"from peft import LoraConfig\n":                0,
	} {
		if got := AdaptersMadeAt(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
