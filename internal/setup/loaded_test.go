// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/safetensors"
)

// saved returns a model with these config keys.
func saved(keys ...string) Model {
	config := map[string]any{"model_type": "llama"}
	for i := 0; i < len(keys); i += 2 {
		config[keys[i]] = keys[i+1]
	}
	return Model{Config: config}
}

func TestCompleteWeights(t *testing.T) {
	files := Model{Config: saved().Config, Weights: &safetensors.Header{Types: map[string]int{"F16": 3}}}
	for name, x := range map[string]struct {
		model             Model
		loaded, precision string
		lora, full        string // the type of frozen weights, and of trained ones
		guessed           bool
		err               string
	}{
		"not said":           {saved(), "", "amp-bf16", "", "", false, ""},
		"said":               {saved(), "bf16", "amp-bf16", "bf16", "bf16", false, ""},
		"another 16 bits":    {saved(), "fp16", "amp-bf16", "fp16", "fp16", false, ""},
		"float32":            {saved(), "fp32", "amp-bf16", "", "", false, ""},
		"saved, torch_dtype": {saved("torch_dtype", "torch.float16"), Saved, "amp-bf16", "fp16", "fp16", false, ""},
		"saved, dtype":       {saved("dtype", "bfloat16"), Saved, "amp-bf16", "bf16", "bf16", false, ""},
		"saved in float32":   {saved("dtype", "float32"), Saved, "amp-bf16", "", "", false, ""},
		"saved, by files":    {files, Saved, "amp-bf16", "fp16", "fp16", false, ""},
		"saved, unknown":     {saved("dtype", "float8_e4m3fn"), Saved, "amp-bf16", "bf16", "", true, ""},
		"without autocast":   {saved("dtype", "float16"), Saved, "bf16", "", "", false, ""},
		"the precision's":    {saved(), "bf16", "bf16", "", "", false, ""},
		"not the precision":  {saved(), "bf16", "fp32", "bf16", "bf16", false, "or weights fp32"},
	} {
		for want, adapters := range map[*string]*LoRA{&x.full: nil, &x.lora: {PEFT: true}} {
			s := &Setup{Model: x.model, Precision: x.precision, Weights: x.loaded, LoRA: adapters}
			err := s.completeWeights()
			if (err != nil) != (x.err != "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Fatalf("%s: error %v, want %q", name, err, x.err)
			}
			if s.Weights != *want || s.Guessed != x.guessed {
				t.Errorf("%s, adapters %v: %q, guessed %v; want %q, %v", name, adapters != nil, s.Weights, s.Guessed, *want, x.guessed)
			}
		}
	}
}

// TestPrecisionAsSaved checks that without a precision, a model loaded as saved trains in its saved type.
func TestPrecisionAsSaved(t *testing.T) {
	for name, x := range map[string]struct {
		fields    map[string]any
		precision string
		guessed   bool
	}{
		"saved":      {map[string]any{"weights": Saved, "model": map[string]any{"name": "llama-3.2-1b"}}, "bf16", false},
		"in float32": {map[string]any{"weights": Saved, "model": map[string]any{"name": "gpt2"}}, "fp32", false},
		"not known":  {map[string]any{"weights": Saved, "model": map[string]any{"name": "tinyllama-1.1b"}}, "fp32", true},
		"said":       {map[string]any{"weights": Saved, "precision": "fp32", "model": map[string]any{"name": "llama-3.2-1b"}}, "fp32", false},
		"no weights": {map[string]any{"model": map[string]any{"name": "llama-3.2-1b"}}, "fp32", false},
	} {
		x.fields["batch"], x.fields["seq"] = 1.0, 8.0
		s, err := Decode(x.fields, Source{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Precision != x.precision || s.Weights != "" || s.Guessed != x.guessed {
			t.Errorf("%s: precision %q, weights %q, guessed %v; want %q, none, %v", name, s.Precision, s.Weights, s.Guessed, x.precision, x.guessed)
		}
	}
}

// TestScaledWeights checks that a gradient scaler can hardly ever train 16-bit weights.
func TestScaledWeights(t *testing.T) {
	for name, x := range map[string]struct {
		s   Setup
		err string
	}{
		"float16":            {Setup{Weights: "fp16"}, "Attempting to unscale FP16 gradients"},
		"bfloat16":           {Setup{Weights: "bf16"}, "precision is amp-fp16 and weights bf16: PyTorch's GradScaler cannot unscale bfloat16"},
		"as saved":           {Setup{Weights: Saved, Model: saved("dtype", "bfloat16")}, "precision is amp-fp16 and weights bf16, the saved type of llama: "},
		"fused":              {Setup{Weights: "fp16", Optimizer: "adamw-fused"}, ""},
		"fused, clipped":     {Setup{Weights: "fp16", Optimizer: "adamw-fused", Clip: true}, "Attempting"},
		"fused, bfloat16":    {Setup{Weights: "bf16", Optimizer: "adamw-fused"}, "cannot unscale"},
		"float32":            {Setup{Weights: "fp32"}, ""},
		"adapters":           {Setup{Weights: "fp16", LoRA: &LoRA{PEFT: true}}, ""},
		"16-bit adapters":    {Setup{Weights: "fp16", LoRA: &LoRA{}}, "Attempting"},
		"adapters and heads": {Setup{Weights: "fp16", LoRA: &LoRA{PEFT: true, Save: []string{"lm_head"}}}, "Attempting"},
		"deepspeed":          {Setup{Weights: "fp16", Dist: Over("zero3", 4)}, ""},
		"ddp":                {Setup{Weights: "fp16", Dist: Over("ddp", 4)}, "Attempting"},
	} {
		s := x.s
		s.Precision = "amp-fp16"
		if err := s.completeWeights(); (err != nil) != (x.err != "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: error %v, want %q", name, err, x.err)
		}
	}
}

// TestWeightsUnder compares WeightsUnder with the weights of a setup in that precision, or with float32 if that setup
// is refused.
func TestWeightsUnder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Setup{
			Model:     rapid.SampledFrom([]Model{saved(), saved("dtype", "bfloat16"), saved("dtype", "float16"), saved("dtype", "float32")}).Draw(t, "model"),
			Weights:   rapid.SampledFrom([]string{"", "fp32", Saved}).Draw(t, "weights"),
			Precision: rapid.SampledFrom(Precisions).Draw(t, "precision"),
			LoRA:      rapid.SampledFrom([]*LoRA{nil, {}, {PEFT: true}}).Draw(t, "lora"),
			Clip:      true,
		}
		other := *s
		other.Precision = rapid.SampledFrom(Precisions).Draw(t, "other")
		fails := other.completeWeights() != nil
		if s.Weights == "fp32" && !autocasts(s.Precision) || s.completeWeights() != nil {
			return
		}
		got := s.WeightsUnder(other.Precision)
		switch {
		case fails && other.Precision == "amp-fp16" && got != "", !fails && got != other.Weights:
			t.Fatalf("%q, want %q (refused: %v)", got, other.Weights, fails)
		}
	})
}
