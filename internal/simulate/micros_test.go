// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
	"snug/internal/shadow"
)

// TestMicroBatchesRepeat compares runs whose later micro-batches are copied with runs in which a log forces all of
// them to be simulated.
func TestMicroBatchesRepeat(t *testing.T) {
	tests := map[string]map[string]any{
		"gpt2":          {"model": map[string]any{"name": "gpt2"}, "precision": "amp-bf16"},
		"checkpointing": {"model": map[string]any{"name": "smollm2-135m"}, "precision": "amp-fp16", "checkpointing": true},
		"bf16":          {"model": map[string]any{"name": "qwen2.5-0.5b"}, "precision": "bf16", "clip": true},
		"images":        {"model": map[string]any{"name": "torchvision/resnet18"}, "precision": "amp-bf16"},
		"fsdp2":         {"model": map[string]any{"name": "gpt2"}, "dist": map[string]any{"kind": "fsdp2", "world": 2.0}},
		"mixtral":       {"model": map[string]any{"config": map[string]any{"model_type": "mixtral", "num_hidden_layers": 2.0, "hidden_size": 256.0, "intermediate_size": 512.0, "vocab_size": 1000.0}}},
	}
	for name, fields := range tests {
		t.Run(name, func(t *testing.T) {
			fields["batch"], fields["accumulation"] = 2.0, 6.0
			if name != "images" {
				fields["seq"] = 64.0
			}
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
