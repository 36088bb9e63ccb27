// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// quantizedFields returns a setup with quantized weights, with some fields changed.
func quantizedFields(change map[string]any) map[string]any {
	fields := map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 64.0, "precision": "bf16",
		"lora": map[string]any{"rank": 8.0, "peft": true}, "quantization": map[string]any{"bits": 4.0},
	}
	for k, v := range change {
		Put(fields, k, v)
	}
	return fields
}

func TestQuantizedDefaults(t *testing.T) {
	s, err := Decode(quantizedFields(nil), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Quantization{Bits: 4, Type: "nf4", Compute: "bf16"}, s.Quantization); diff != "" {
		t.Error(diff)
	}
}

func TestQuantizedRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]any
		want   string
	}{
		{"no adapters", map[string]any{"lora": nil}, "quantized weights cannot be trained"},
		{"adapters without PEFT", map[string]any{"lora.peft": false, "lora.targets": []any{"q_proj"}}, "set lora.peft"},
		{"DoRA", map[string]any{"lora.dora": true}, "DoRA over quantized weights is not simulated"},
		{"3 bits", map[string]any{"quantization.bits": 3.0}, "quantization.bits: 3-bit weights are not simulated; choose quantization.bits 4 or quantization.bits 8"},
		{"a type of 8 bits", map[string]any{"quantization.bits": 8.0, "quantization.type": "nf4"}, "quantization.type is for 4-bit weights"},
		{"8 bits, sharded", map[string]any{"quantization.bits": 8.0, "dist": map[string]any{"kind": "fsdp1", "world": 2.0}}, "8-bit weights are simulated on one GPU and under ddp"},
		{"8 bits with an old bitsandbytes", map[string]any{"quantization.bits": 8.0, "versions.bitsandbytes": "0.45.0"}, "products with 8-bit weights are simulated as in 0.46 and later"},
		{"cast back alone", map[string]any{"quantization.cast_back": true}, "quantization.cast_back needs quantization.prepare"},
		{"a scaler", map[string]any{"quantization.adapters": "bf16", "precision": "amp-fp16"}, "GradScaler cannot unscale 16-bit gradients"},
		{"an old bitsandbytes", map[string]any{"versions.bitsandbytes": "0.41"}, "versions.bitsandbytes 0.41 is not supported; choose 0.43 to 0.50"},
		{"no bits", map[string]any{"quantization": map[string]any{"double": true}}, "quantization.bits is missing"},
		{"a type", map[string]any{"quantization.type": "nf5"}, `"nf5" is not known; known: nf4, fp4`},
		{"a compute type", map[string]any{"quantization.compute": "bfloat16"}, `"bfloat16" is not known`},
		{"a typo", map[string]any{"quantization.doubel": true}, `field "quantization.doubel" is not known; did you mean double`},
		{"no object", map[string]any{"quantization": true}, "quantization is true; it must be an object"},
		{"sharded", map[string]any{"dist": map[string]any{"kind": "fsdp2", "world": 2.0}}, "choose dist.kind fsdp1"},
		{"loaded whole", map[string]any{"dist": map[string]any{"kind": "fsdp1", "world": 2.0, "load": "whole"}}, "transformers never loads all quantized weights onto a GPU"},
		{"cast and sharded", map[string]any{"quantization.prepare": true, "dist": map[string]any{"kind": "fsdp1", "world": 2.0}}, "FSDP refuses blocks that mix float32 with other types"},
		{"not quantized by transformers", map[string]any{"model": map[string]any{"config": map[string]any{"model_type": "dbrx"}}, "lora.targets": []any{"dense"}}, "which layers of dbrx are quantized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Decode(quantizedFields(c.change), Source{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to contain %q", err, c.want)
			}
		})
	}
}

// TestQuantizedInFiles checks that quantization in a model's files is read from its config.
func TestQuantizedInFiles(t *testing.T) {
	config := func(q map[string]any) map[string]any {
		return quantizedFields(map[string]any{"quantization": nil, "model": map[string]any{"config": map[string]any{"model_type": "llama", "quantization_config": q}}})
	}
	s, err := Decode(config(map[string]any{
		"quant_method": "bitsandbytes", "_load_in_4bit": true, "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
		"bnb_4bit_use_double_quant": true, "bnb_4bit_compute_dtype": "bfloat16",
	}), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Quantization{Bits: 4, Type: "nf4", Double: true, Compute: "bf16", Saved: true}, s.Quantization); diff != "" {
		t.Error(diff)
	}
	s, err = Decode(config(map[string]any{"quant_method": "bitsandbytes", "_load_in_8bit": true, "load_in_8bit": true}), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Quantization{Bits: 8, Saved: true}, s.Quantization); diff != "" {
		t.Error(diff)
	}
	for _, q := range []map[string]any{{"quant_method": "gptq", "bits": 4.0}, {"quant_method": "bitsandbytes", "load_in_8bit": true, "llm_int8_has_fp16_weight": true}, {}} {
		if _, err := Decode(config(q), Source{}); err == nil || !strings.Contains(err.Error(), "in a way that is not simulated") {
			t.Errorf("%v: %v", q, err)
		}
	}
}

func TestQuantizedUnder(t *testing.T) {
	for _, c := range []struct{ was, compute, precision, want string }{
		{"amp-bf16", "bf16", "amp-fp16", "fp16"}, {"amp-bf16", "fp32", "amp-fp16", "fp32"}, {"fp32", "fp32", "amp-bf16", "bf16"}, {"bf16", "bf16", "amp-bf16", "bf16"},
	} {
		s := &Setup{Precision: c.was, Quantization: &Quantization{Bits: 4, Compute: c.compute}}
		if got := s.QuantizationUnder(c.precision).Compute; got != c.want || s.Quantization.Compute != c.compute {
			t.Errorf("%s computed in %s, under %s: %s, want %s", c.was, c.compute, c.precision, got, c.want)
		}
	}
}
