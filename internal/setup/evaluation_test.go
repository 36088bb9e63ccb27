// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
)

// TestEvaluationRefusals checks that invalid evaluations are refused.
func TestEvaluationRefusals(t *testing.T) {
	gpt2 := map[string]any{"name": "gpt2"}
	for _, tc := range []struct {
		name  string
		with  map[string]any
		error string
	}{
		{"plain", map[string]any{"evaluation": map[string]any{"batch": 8.0, "every": 100.0, "keeps_logits": true}}, ""},
		{"empty", map[string]any{"evaluation": map[string]any{}}, ""},
		{"no batch", map[string]any{"evaluation": map[string]any{"batch": 0.0}}, "evaluation.batch is 0; it must be at least 1"},
		{"an unknown field", map[string]any{"evaluation": map[string]any{"bach": 8.0}}, "bach"},
		{"too large", map[string]any{"evaluation": map[string]any{"batch": 1048576.0}, "seq": 1024.0, "model": map[string]any{"name": "llama-3.2-1b"}, "steps": 1.0, "batch": 1.0, "id": "x", "limit": "1GiB"}, ""},
		{"an encoder's logits", map[string]any{"evaluation": map[string]any{"keeps_logits": true}, "model": map[string]any{"name": "bert-base", "head": "encoder"}}, "evaluation.keeps_logits: bert-base is trained as an encoder"},
		{"compile", map[string]any{"compile": true}, ""},
		{"compile as a number", map[string]any{"compile": 1.0}, "compile is 1; it must be true or false"},
	} {
		fields := map[string]any{"model": gpt2, "batch": 2.0, "seq": 64.0}
		for k, v := range tc.with {
			fields[k] = v
		}
		_, err := Decode(fields, Source{})
		if got := errorText(err); tc.error == "" && got != "" || !strings.Contains(got, tc.error) {
			t.Errorf("%s: error %q, want %q", tc.name, got, tc.error)
		}
	}
}

// errorText returns an error's text with field names as in a file.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
