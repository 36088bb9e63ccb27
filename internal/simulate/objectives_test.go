// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"testing"
)

// apart lists the runs whose reserved bytes are off by more than half a percent, with their limits. Their
// allocated bytes are right, but blocks are placed differently.
var apart = map[string]float64{
	"trl-dpo-given-gpt2":                  1.6,
	"trl-dpo-precompute-gpt2":             0.9,
	"trl-grpo-lora-kl-smollm2-135m":       0.9, // its cache grows by three tokens at a time
	"trl-orpo-lora-ckpt-off-smollm2-135m": 0.6,
	"trl-reward-lora-smollm2-135m":        0.7,
}

// TestObjectives compares TRL's preference trainers with measurements.
func TestObjectives(t *testing.T) {
	for _, p := range programs(t, "measured_objectives.jsonl") {
		t.Run(p.ID, func(t *testing.T) {
			s := p.setup(t)
			res, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			peaks := played(t, res)
			off := func(got, want uint64) float64 { return 100 * (float64(got)/float64(want) - 1) }
			reserved, allocated := off(peaks.PeakReserved, p.Measured.Reserved), off(peaks.PeakAllocated, p.Measured.Allocated)
			if math.Abs(reserved) > max(apart[p.ID], 0.5) || math.Abs(allocated) > 0.2 {
				t.Errorf("reserved bytes are off by %+.2f %%, allocated bytes by %+.2f %%", reserved, allocated)
			}
			t.Logf("allocated %+.3f %%, reserved %+.3f %% %v", allocated, reserved, s.Script.Notes())
		})
	}
}
