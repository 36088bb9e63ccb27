// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFlagsBetween checks that the flags between two runs are those that a user would type: only what differs,
// switches without a value, and nothing that follows from the rest.
func TestFlagsBetween(t *testing.T) {
	from := &Setup{Batch: 8, Accumulation: 1, Precision: FP32, Optimizer: "adamw", Checkpointing: true}
	to := *from
	to.Batch, to.Accumulation, to.Checkpointing, to.Allocator = 2, 4, false, "expandable_segments:True"
	to.LoRA = &LoRA{Rank: 16, Alpha: 32, Targets: []string{"q_proj"}, PEFT: true}
	to.Quantization = &Quantization{Bits: 4, Type: NF4, Double: true, Compute: BF16}
	to.Dist = Over(FSDP2, 8)
	want := []string{"--batch 2", "--accumulation 4", "--checkpointing=false", "--lora-rank 16", "--lora-peft", "--load-in-4bit",
		"--bnb-4bit-use-double-quant", "--dist fsdp2", "--gpus 8", "--allocator expandable_segments:True"}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(FlagsBetween(from, &to)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := FlagsBetween(from, from); len(got) > 0 {
		t.Errorf("between equal runs: %v", got)
	}
}
