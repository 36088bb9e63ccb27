// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/family"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// TestCheckpoints does the same as TestPEFT for steps with checkpointed blocks, with both non-reentrant and
// reentrant checkpointing (testdata/measured/checkpoint_ops.py).
func TestCheckpoints(t *testing.T) {
	files, _ := filepath.Glob("testdata/checkpoints/*.txt.gz")
	if len(files) != 12 {
		t.Fatalf("only %d recordings", len(files))
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt.gz"), func(t *testing.T) {
			c, recorded := readPEFT(t, f)
			s := caseSetup(c)
			s.Steps = 1
			reentrant, _ := c["reentrant"].(bool)
			o := Options{Undivided: true, OutOfPlace: true, Local: true, Model: checkpointed(s, reentrant)}
			compare(t, play(t, s, o).blocks(), recorded.blocks())
		})
	}
}

// checkpointed makes the setup's model with either kind of checkpointing.
func checkpointed(s *setup.Setup, reentrant bool) Maker {
	return func(b *nn.Builder, how family.Run) (family.Model, error) {
		how.Reentrant = reentrant
		return family.New(b, family.NewConfig(s.Model.Config), how)
	}
}

// TestCheckpointsGatherOnce checks that under FSDP2 a recomputed block finds its parameters already gathered by
// the hook before its backward, so that checkpointing adds only the recomputed ops.
func TestCheckpointsGatherOnce(t *testing.T) {
	gathers := func(checkpointing bool) (n int) {
		s := &setup.Setup{
			Model: setup.Model{Config: map[string]any{"model_type": "gpt2", "n_layer": 3.0}, Head: "causal-lm"}, Batch: 1, Seq: 64, Steps: 1,
			Precision: "fp32", Attention: "sdpa", Checkpointing: checkpointing, Dist: setup.Over("fsdp2", 4),
		}
		_, err := Run(s, Options{Log: func(_ *shadow.World, op string) {
			if strings.Contains(op, "all_gather_copy_out") {
				n++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if with, without := gathers(true), gathers(false); with != without || without < 4 {
		t.Errorf("%d gathers with checkpoints, %d without", with, without)
	}
}

// TestDeepSpeedHasOneAdam checks that DeepSpeed uses its own kernel for every kind of Adam.
func TestDeepSpeedHasOneAdam(t *testing.T) {
	allocations := func(optimizer string) uint32 {
		s := &setup.Setup{
			Model: setup.Model{Config: map[string]any{"model_type": "gpt2", "n_layer": 1.0}, Head: "causal-lm"}, Batch: 1, Seq: 16, Steps: 1,
			Precision: "bf16", Attention: "sdpa", Optimizer: optimizer, Dist: setup.Over("zero2", 4),
		}
		r, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.World.Trace.Allocations()
	}
	want := allocations("adamw-fused")
	for _, name := range []string{"", "adam", "adamw"} {
		if got := allocations(name); got != want {
			t.Errorf("%q: %d allocations, want %d", name, got, want)
		}
	}
	if allocations("adamw-loop") == want {
		t.Error("a loop over parameters makes no difference, so this test checks nothing")
	}
}
