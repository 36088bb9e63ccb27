// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"errors"
	"testing"
	"testing/fstest"

	"snug/internal/config/configtest"
	"snug/internal/config/doc"
)

// If a user's own program has a flag without a value, the flag cannot be turned off in place. The plan
// refuses this before any file is written. A trainer's parser accepts False.
func TestFlagsWithoutValues(t *testing.T) {
	for text, want := range map[string]error{
		"python train.py --batch_size 4 --bf16 --seq_len 512\n":                                                                  doc.ErrFixed,
		"accelerate launch run_clm.py --model_name_or_path gpt2 \\\n  --per_device_train_batch_size 4 --bf16 --output_dir out\n": nil,
	} {
		p := opened(t, fstest.MapFS{"run.sh": {Data: []byte(text)}})
		if _, err := New(p, configtest.Values(map[string]any{"precision": "fp32"})); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
		if plan, err := New(p, configtest.Values(map[string]any{"batch": 2})); err != nil || len(plan.Edits) != 1 {
			t.Errorf("%s: batch: %+v, %v", text, plan, err)
		}
	}
}
