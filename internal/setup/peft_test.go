// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/safetensors"
)

func TestFrozenWeights(t *testing.T) {
	config := func(keys ...string) map[string]any {
		out := map[string]any{"model_type": "llama"}
		for i := 0; i < len(keys); i += 2 {
			out[keys[i]] = keys[i+1]
		}
		return out
	}
	for name, x := range map[string]struct {
		model           Model
		base, precision string
		want            string
		guessed         bool
		err             string
	}{
		"not said":           {Model{Config: config()}, "", "amp-bf16", "", false, ""},
		"said":               {Model{Config: config()}, "bf16", "amp-bf16", "bf16", false, ""},
		"another 16 bits":    {Model{Config: config()}, "fp16", "amp-bf16", "fp16", false, ""},
		"float32":            {Model{Config: config()}, "fp32", "amp-bf16", "", false, ""},
		"saved, dtype":       {Model{Config: config("dtype", "bfloat16")}, Saved, "amp-fp16", "bf16", false, ""},
		"saved, torch_dtype": {Model{Config: config("torch_dtype", "torch.float16")}, Saved, "amp-bf16", "fp16", false, ""},
		"saved in float32":   {Model{Config: config("dtype", "float32")}, Saved, "amp-bf16", "", false, ""},
		"saved, by files":    {Model{Config: config(), Weights: &safetensors.Header{Types: map[string]int{"F16": 3}}}, Saved, "amp-bf16", "fp16", false, ""},
		"saved, no word":     {Model{Config: config("dtype", "float8_e4m3fn")}, Saved, "amp-bf16", "bf16", true, ""},
		"without autocast":   {Model{Config: config("dtype", "float16")}, Saved, "bf16", "", false, ""},
		"the precision's":    {Model{Config: config()}, "bf16", "bf16", "", false, ""},
		"not the precision":  {Model{Config: config()}, "bf16", "fp32", "bf16", false, "or lora.base fp32"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Setup{Model: x.model, Precision: x.precision, LoRA: &LoRA{Base: x.base, Targets: []string{"q_proj"}}}
			err := s.completeLoRA()
			if (err != nil) != (x.err != "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Fatalf("error %v, want %q", err, x.err)
			}
			if s.LoRA.Base != x.want || s.LoRA.Guessed != x.guessed {
				t.Errorf("base %q, guessed %v; want %q, %v", s.LoRA.Base, s.LoRA.Guessed, x.want, x.guessed)
			}
			if got := x.model.Frozen(x.base, x.precision); err == nil && got != x.want {
				t.Errorf("Frozen is %q, want %q", got, x.want)
			}
		})
	}
}

func TestPEFTTargets(t *testing.T) {
	for family, want := range map[string][]string{
		"llama": {"q_proj", "v_proj"}, "phi": {"q_proj", "v_proj", "fc1", "fc2"}, "gpt2": {"c_attn"},
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
