// SPDX-License-Identifier: Apache-2.0

package setup

import "testing"

func TestEarlierNames(t *testing.T) {
	fields := map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 128.0, "precision": "bf16",
		"lora":   map[string]any{"rank": 8.0, "targets": []any{"q_proj"}, "peft": true},
		"packed": map[string]any{"bits": 4.0, "type": "fp4", "raised": true, "lowered": true},
	}
	s, err := Decode(fields, Source{})
	if err != nil {
		t.Fatal(err)
	}
	if q := s.Quantization; q == nil || q.Type != "fp4" || !q.Prepare || !q.CastBack {
		t.Errorf("packed was read as %+v", q)
	}
	if fields["packed"] == nil {
		t.Error("the input fields were modified")
	}
	fields["quantization"] = map[string]any{"bits": 4.0}
	if _, err := Decode(fields, Source{}); err == nil {
		t.Error("quantization under both names was accepted")
	}
}
