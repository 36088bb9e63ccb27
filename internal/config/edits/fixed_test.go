// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"errors"
	"testing"
	"testing/fstest"

	"snug/internal/config/configtest"
	"snug/internal/config/doc"
)

// What cannot be replaced in place is refused in the plan, not when half of the files are open.
func TestChangeRefusesFixed(t *testing.T) {
	files := fstest.MapFS{"run.sh": {Data: []byte("accelerate launch run_clm.py --model_name_or_path gpt2 \\\n  --per_device_train_batch_size 4 --bf16 --output_dir out\n")}}
	p := opened(t, files)
	if _, err := New(p, configtest.Values(map[string]any{"precision": "fp32"})); !errors.Is(err, doc.ErrFixed) {
		t.Errorf("precision: %v, want %v", err, doc.ErrFixed)
	}
	if plan, err := New(p, configtest.Values(map[string]any{"batch": 2})); err != nil || len(plan.Edits) != 1 {
		t.Errorf("batch: %+v, %v", plan, err)
	}
}
