// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"maps"
	"slices"
	"testing"

	"snug/internal/setup"
	"snug/internal/shadow"
)

// TestRepeatedSteps compares copied steps with simulated ones; a log forces every step to be simulated.
func TestRepeatedSteps(t *testing.T) {
	base := map[string]any{"batch": 2.0, "seq": 32.0, "steps": 4.0, "precision": "amp-bf16"}
	for name, more := range map[string]map[string]any{
		"plain":         {},
		"fp16":          {"precision": "amp-fp16"},
		"checkpointing": {"checkpointing": true},
		"clip":          {"clip": true, "accumulation": 2.0},
		"adafactor":     {"optimizer": "adafactor"},
		"fused":         {"optimizer": "adamw-fused"},
		"ddp":           {"dist": map[string]any{"kind": "ddp", "world": 4.0}},
		"zero1":         {"dist": map[string]any{"kind": "zero1", "world": 4.0}},
		"fsdp2":         {"dist": map[string]any{"kind": "fsdp2", "world": 4.0}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := map[string]any{"model": map[string]any{"config": map[string]any{"model_type": "gpt2", "n_layer": 2.0}}}
			for _, m := range []map[string]any{base, more} {
				for k, v := range m {
					fields[k] = v
				}
			}
			s, err := setup.Decode(fields, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			compareWithRun(t, s)
		})
	}
}

// TestRepeatedLiger does what TestRepeatedSteps does, for Liger's kernels, whose loss computes its gradients before
// backward begins.
func TestRepeatedLiger(t *testing.T) {
	small := map[string]any{"hidden_size": 64.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0, "num_key_value_heads": 2.0, "intermediate_size": 128.0, "vocab_size": 500.0}
	for name, more := range map[string]map[string]any{
		"plain":         {},
		"tied":          {"tie": true},
		"accumulation":  {"accumulation": 3.0, "clip": true},
		"checkpointing": {"checkpointing": true, "precision": "bf16"},
		"zero3":         {"dist": map[string]any{"kind": "zero3", "world": 4.0}, "precision": "bf16"},
		"fsdp2":         {"dist": map[string]any{"kind": "fsdp2", "world": 4.0}},
	} {
		t.Run(name, func(t *testing.T) {
			config := maps.Clone(small)
			config["model_type"], config["tie_word_embeddings"] = "llama", more["tie"] == true
			fields := map[string]any{
				"model": map[string]any{"config": config}, "batch": 2.0, "seq": 32.0, "steps": 4.0, "precision": "amp-bf16",
				"loss": "liger", "liger": []any{"all"},
			}
			maps.Copy(fields, more)
			delete(fields, "tie")
			s, err := setup.Decode(fields, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			compareWithRun(t, s)
		})
	}
}

// TestMeasuredCasesWritten does what TestRepeatedSteps does, for every measured case.
func TestMeasuredCasesWritten(t *testing.T) {
	for _, row := range measuredRows(t) {
		t.Run(row.Setup.ID, func(t *testing.T) {
			compareWithRun(t, &row.Setup)
			row.Setup.Accumulation = 3
			compareWithRun(t, &row.Setup)
		})
	}
}

// compareWithRun compares a run in which as much as possible is copied with one in which everything is
// simulated.
func compareWithRun(t *testing.T, s *setup.Setup) {
	t.Helper()
	written, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ran, err := Run(s, Options{Log: func(*shadow.World, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(written.World.Trace.Events, ran.World.Trace.Events) {
		t.Errorf("%d copied events differ from %d simulated ones", len(written.World.Trace.Events), len(ran.World.Trace.Events))
	}
	if !slices.Equal(tags(written), tags(ran)) {
		t.Error("the tags differ")
	}
}

// tags returns the tag of each allocation of a run.
func tags(r *Result) []shadow.Tag {
	out := make([]shadow.Tag, r.World.Trace.Allocations())
	for id := range out {
		out[id] = r.World.Tag(uint32(id))
	}
	return out
}
