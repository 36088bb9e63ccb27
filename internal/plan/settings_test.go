// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
)

// TestSettingsAreThoseOfTheTable checks that every setting that the table lets a plan choose survives conversion to
// the planner's own type.
func TestSettingsAreThoseOfTheTable(t *testing.T) {
	s := &setup.Setup{
		Batch: 3, Accumulation: 5, Seq: 32, TargetSeq: 16, Positives: 2, Negatives: 7, Precision: setup.BF16, Optimizer: "sgd",
		Attention: setup.Eager, Allocator: expandable, Checkpointing: true, Dist: setup.Over(setup.FSDP2, 4),
	}
	d := s.Dist
	d.BucketView, d.ParamDType, d.ReduceDType, d.Load = true, setup.BF16, setup.FP32, setup.LoadSharded
	want := setup.Planned(s)
	if chosen := setup.Used(setup.InPlan); len(want) != len(chosen) {
		t.Fatalf("the setup has %v, but the table has %v; give each a value", want.Names(), chosen)
	}
	if diff := cmp.Diff(want, setup.Planned(settingsOf(s).on(&setup.Setup{}))); diff != "" {
		t.Errorf("lost in the planner:\n%s", diff)
	}
}
