// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"os"
	"testing"

	"snug/internal/units"
)

// TestRealRunsAreInside checks that every real run, including the one that skipped an update, is inside the interval
// of an estimate from recordings at smaller batches. If the prediction was right and no update can be skipped, the
// interval is narrower than one for all models would be, -5.3 to +4.4 %.
func TestRealRunsAreInside(t *testing.T) {
	ladders, err := loadLadders(os.DirFS("../../testdata/measured"))
	if err != nil {
		t.Fatal(err)
	}
	rungs, err := climb(ladders)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(expected(rungs))
	if len(rungs) < 28 {
		t.Errorf("only %d predictions", len(rungs))
	}
	for i := range rungs {
		r := &rungs[i]
		if !r.inside() {
			t.Errorf("%s at %d took %d, which is outside %v", r.Model, r.Batch, r.Real, r.Interval)
		}
		const segment = 20 * units.MiB
		before := max(0.0534*float64(r.Predicted), segment) + max(0.0437*float64(r.Predicted), segment)
		if wide := float64(r.Interval[1] - r.Interval[0]); r.off() == 0 && r.Precision != "amp-fp16" && wide > before {
			t.Errorf("%s at %d is right, but its interval has width %.0f, and was %.0f", r.Model, r.Batch, wide, before)
		}
	}
}
