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
		{"8 bits with an old bitsandbytes", map[string]any{"quantization.bits": 8.0, "versions.bitsandbytes": "0.45.0"}, "8-bit weights are simulated for 0.46 and later"},
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
	for _, q := range []map[string]any{{"quant_method": "hqq", "bits": 4.0}, {"quant_method": "awq", "bits": 4.0, "version": "gemv"}, {"quant_method": "gptq", "bits": 4.0, "lm_head": true}, {"quant_method": "bitsandbytes", "load_in_8bit": true, "llm_int8_has_fp16_weight": true}, {}} {
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

// TestGPTQ checks the settings of weights quantized by GPTQ, and where they come from.
func TestGPTQ(t *testing.T) {
	four := &Quantization{Bits: 4, Method: GPTQ, Group: 128}
	saved := func(bits, group int) *Quantization {
		return &Quantization{Bits: bits, Method: GPTQ, Group: group, Saved: true}
	}
	named := func(name string) map[string]any {
		return map[string]any{"model": map[string]any{"name": name}, "quantization": nil}
	}
	for name, c := range map[string]struct {
		change map[string]any
		want   *Quantization
	}{
		"given":            {map[string]any{"quantization.method": "gptq"}, four},
		"the usual kernel": {map[string]any{"quantization.method": "gptq", "quantization.kernel": "gptqmodel"}, four},
		"without groups":   {map[string]any{"quantization.method": "gptq", "quantization.group_size": -1.0}, &Quantization{Bits: 4, Method: GPTQ, Group: -1}},
		"by name":          {named("TheBloke/Llama-2-7B-GPTQ"), saved(4, 128)},
		"bits in a name":   {named("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8"), saved(8, 128)},
		"in a config": {map[string]any{"quantization": nil, "model": map[string]any{"config": map[string]any{
			"model_type": "llama", "quantization_config": map[string]any{"quant_method": "gptq", "bits": 3.0, "group_size": -1.0},
		}}}, saved(3, -1)},
		"AWQ by name":   {map[string]any{"model": map[string]any{"name": "Qwen/Qwen2.5-7B-Instruct-AWQ"}, "quantization": nil, "precision": "fp16"}, &Quantization{Bits: 4, Method: AWQ, Group: 128, Saved: true}},
		"another group": {map[string]any{"model": map[string]any{"name": "TheBloke/Llama-2-7B-GPTQ"}, "quantization.method": "gptq", "quantization.group_size": 32.0}, saved(4, 32)},
	} {
		s, err := Decode(quantizedFields(c.change), Source{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, s.Quantization); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestGPTQRefusals(t *testing.T) {
	for _, c := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"quantization.type": "nf4"}, "quantization.type has no effect on weights quantized by GPTQ"},
		{map[string]any{"quantization.bits": 5.0}, "GPTQ quantizes weights to 2, 3, 4 or 8 bits, not to 5"},
		{map[string]any{"quantization.method": "bitsandbytes", "quantization.group_size": 64.0}, "quantization.group_size is for weights quantized by GPTQ or AWQ"},
		{map[string]any{"quantization.kernel": "triton-v2"}, "triton-v2, which computes in float16, but precision is bf16"},
		{map[string]any{"quantization.kernel": "triton-v2", "quantization.bits": 3.0, "precision": "fp16"}, "has no 3-bit weights"},
		{map[string]any{"dist": map[string]any{"kind": "fsdp1", "world": 2.0}}, "with quantization.kernel triton-v2 under fsdp1"},
		{map[string]any{"dist": map[string]any{"kind": "ddp", "world": 2.0}}, "weights quantized by GPTQ are simulated on one GPU"},
		{map[string]any{"quantization.method": "awq", "quantization.bits": 8.0}, "AWQ quantizes weights to 4 bits, not to 8"},
		{map[string]any{"quantization.method": "awq"}, "transformers loads weights quantized by AWQ in float16"},
		{map[string]any{"quantization.method": "awq", "precision": "fp16", "quantization.kernel": "triton-v2"}, "quantization.kernel has no effect on weights quantized by AWQ"},
		{map[string]any{"quantization.method": "awq", "precision": "fp16", "dist": map[string]any{"kind": "ddp", "world": 2.0}}, "weights quantized by AWQ are simulated on one GPU"},
		{map[string]any{"unsloth": []any{"lora"}}, "unsloth contains lora, whose functions need"},
		{map[string]any{"unsloth": []any{"lora"}, "quantization.kernel": "triton-v2", "precision": "fp16", "lora.targets": []any{"q_proj"}}, "is simulated only with lora.targets k_proj"},
	} {
		fields := quantizedFields(map[string]any{"quantization.method": "gptq"})
		for k, v := range c.change {
			Put(fields, k, v)
		}
		if _, err := Decode(fields, Source{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to contain %q", err, c.want)
		}
	}
}
