// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// TestQuantizedLever checks that quantization is a lever for PEFT adapters on unquantized weights, alone and with
// another precision, and that quantized weights are never sharded beyond DDP.
func TestQuantizedLever(t *testing.T) {
	fields := map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 2.0, "seq": 128.0, "precision": "amp-bf16", "weights": "bf16",
		"lora": map[string]any{"rank": 8.0, "peft": true}, "dist": map[string]any{"kind": "ddp", "world": 2.0},
	}
	changes := func() (out []string) {
		s, err := setup.Decode(fields, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		card, err := gpu.Find("RTX-4090")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Search(Request{Setup: s, Card: card})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range p.Levers {
			out = append(out, l.Change)
		}
		return out
	}
	spread := func(change string) bool { return strings.Contains(change, "GPUs") }
	whole := changes()
	if !slices.Contains(whole, "4-bit weights") || !slices.ContainsFunc(whole, spread) {
		t.Errorf("levers for unquantized weights: %v", whole)
	}
	fields["quantization"] = map[string]any{"bits": 4.0}
	quantized := changes()
	if !slices.Contains(quantized, "double quantization") || slices.Contains(whole, "double quantization") {
		t.Errorf("double quantization is a lever for quantized weights only: %v", quantized)
	}
	if slices.Contains(quantized, "4-bit weights") || slices.ContainsFunc(quantized, spread) {
		t.Errorf("levers for quantized weights: %v", quantized)
	}
}

func TestQuantizedLeverWithPrecision(t *testing.T) {
	base := &setup.Setup{Precision: "fp32", LoRA: &setup.LoRA{PEFT: true}, Model: setup.Model{Config: map[string]any{"model_type": "llama"}}}
	x := settingsOf(base)
	for _, l := range (&search{prober: newProber(base)}).tableLevers(true) {
		l.pull(&x)
	}
	x.precision = "bf16"
	if p := x.on(base).Quantization; p == nil || p.Compute != "bf16" {
		t.Errorf("quantized %v, want computed in bf16", p)
	}
}
