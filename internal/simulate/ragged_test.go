// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
	"snug/internal/shadow"
)

// TestRecycledSteps compares runs of varying length, whose steps reuse the memory of earlier ones and are copied
// if a length recurs, with runs in which every tensor has its own memory.
func TestRecycledSteps(t *testing.T) {
	llama := map[string]any{"model_type": "llama", "num_hidden_layers": 2.0, "hidden_size": 256.0, "intermediate_size": 512.0, "vocab_size": 1000.0, "num_attention_heads": 4.0}
	mixtral := map[string]any{"model_type": "mixtral", "num_hidden_layers": 2.0, "hidden_size": 256.0, "intermediate_size": 512.0, "vocab_size": 1000.0}
	tests := map[string]map[string]any{
		"gpt2":          {"model": map[string]any{"name": "gpt2"}, "precision": "amp-bf16"},
		"bert":          {"model": map[string]any{"name": "bert-base"}, "clip": true},
		"checkpointing": {"model": map[string]any{"config": llama}, "precision": "amp-fp16", "checkpointing": true},
		"bf16":          {"model": map[string]any{"config": llama}, "precision": "bf16", "accumulation": 3.0},
		"lora":          {"model": map[string]any{"config": llama}, "precision": "bf16", "lora": map[string]any{"rank": 8.0, "targets": []any{"all-linear"}}},
		"kept":          {"model": map[string]any{"config": llama}, "set_to_none": false},
		"adafactor":     {"model": map[string]any{"config": llama}, "optimizer": "adafactor"},
		"experts":       {"model": map[string]any{"config": mixtral}},
	}
	for name, fields := range tests {
		t.Run(name, func(t *testing.T) {
			fields["batch"] = 2.0
			fields["lengths"] = []any{64.0, 17.0, 90.0, 17.0, 64.0, 128.0, 33.0, 90.0, 17.0, 64.0}
			s, err := setup.Decode(fields, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			quick, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := Run(s, Options{Log: func(*shadow.World, string) {}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.World.Trace.Events, quick.World.Trace.Events); diff != "" {
				t.Errorf("the streams differ (-whole +quick):\n%.2000s", diff)
			}
			if diff := cmp.Diff(tags(whole), tags(quick)); diff != "" {
				t.Errorf("the tags differ:\n%.2000s", diff)
			}
		})
	}
}
