// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"maps"
	"math"
	"slices"
	"testing"

	"snug/internal/cost"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// TestFolded compares runs in which only a few iterations of each loop were simulated with runs that
// simulate all of them: events, copies, tags and seconds.
func TestFolded(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"fp32":            {},
		"one more":        {"seq": 37.0},
		"longer":          {"seq": 200.0, "batch": 3.0},
		"without a mask":  {"attention_mask": false},
		"amp-bf16":        {"precision": "amp-bf16"},
		"amp-fp16":        {"precision": "amp-fp16", "clip": true},
		"bf16":            {"precision": "bf16", "optimizer": "adamw-fused"},
		"accumulation":    {"precision": "amp-bf16", "accumulation": 4.0, "steps": 4.0},
		"checkpointing":   {"checkpointing": true, "precision": "amp-bf16"},
		"checkpoints add": {"checkpointing": true, "accumulation": 3.0},
		"lora":            {"lora": map[string]any{"rank": 8.0, "targets": []any{"in_proj", "x_proj"}}},
		"lora and fewer":  {"lora": map[string]any{"rank": 8.0, "targets": []any{"out_proj"}}, "checkpointing": true},
		"ddp":             {"dist": map[string]any{"kind": "ddp", "world": 2.0}},
		"fsdp2":           {"dist": map[string]any{"kind": "fsdp2", "world": 2.0}, "checkpointing": true},
		"zero3":           {"dist": map[string]any{"kind": "zero3", "world": 2.0}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := map[string]any{
				"model": map[string]any{"config": map[string]any{"model_type": "mamba", "num_hidden_layers": 3.0, "hidden_size": 64.0, "vocab_size": 500.0}},
				"batch": 2.0, "seq": 64.0,
			}
			maps.Copy(fields, more)
			s, err := setup.Decode(fields, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			for _, brief := range []bool{false, true} {
				compareFolded(t, s, brief)
			}
		})
	}
}

func compareFolded(t *testing.T, s *setup.Setup, brief bool) {
	t.Helper()
	run := func(folds bool) (*Result, float64) {
		tape := &cost.Tape{}
		res, err := runFolded(s, Options{Watch: tape, Brief: brief}, folds)
		if err != nil {
			t.Fatal(err)
		}
		if res == nil {
			t.Fatal("the iterations were not alike")
		}
		rates, _ := cost.RatesOf(gpu.Reference)
		return res, tape.Seconds(rates, s.Accumulation)
	}
	folded, seconds := run(true)
	whole, want := run(false)
	a, b := folded.World.Trace, whole.World.Trace
	switch {
	case !slices.Equal(a.Events, b.Events):
		t.Errorf("%d events, want %d with the same contents", len(a.Events), len(b.Events))
	case !slices.Equal(a.Copies, b.Copies):
		t.Errorf("copies %v, want %v", a.Copies, b.Copies)
	case a.Allocations() != b.Allocations() || !slices.Equal(tags(folded), tags(whole)):
		t.Error("the tags differ")
	}
	if math.Abs(seconds/want-1) > 1e-12 {
		t.Errorf("%v s, want %v s", seconds, want)
	}
}
