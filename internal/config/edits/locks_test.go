// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"testing"
	"testing/fstest"

	"snug/internal/config/configtest"
)

// An optimizer step during backward leaves no gradients to accumulate.
func TestStepInBackward(t *testing.T) {
	for on, locks := range map[string]int{"True": 1, "False": 0} {
		files := fstest.MapFS{"full.yaml": {Data: []byte("model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\n" +
			"batch_size: 4\ngradient_accumulation_steps: 1\noptimizer_in_bwd: " + on + "\n")}}
		p := opened(t, files)
		if got := len(p.Locks()); got != locks {
			t.Errorf("%s: %d locks, want %d", on, got, locks)
		}
		for _, want := range []map[string]any{{"batch": 2, "accumulation": 2}, {"batch": 1, "effective": 4}} {
			if _, err := New(p, configtest.Values(want)); (err != nil) != (locks > 0) {
				t.Errorf("%s: changing %v: %v", on, want, err)
			}
		}
		if plan, err := New(p, configtest.Values(map[string]any{"batch": 2})); err != nil || len(plan.Edits) != 1 {
			t.Errorf("%s: batch: %+v, %v", on, plan, err)
		}
	}
}

// torchtune stops if activations are offloaded without being checkpointed.
func TestOffloadedActivations(t *testing.T) {
	for on, locks := range map[string]bool{"True": true, "False": false} {
		files := fstest.MapFS{"full.yaml": {Data: []byte("model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\n" +
			"batch_size: 4\ngradient_accumulation_steps: 1\nenable_activation_checkpointing: True\nenable_activation_offloading: " + on + "\n")}}
		p := opened(t, files)
		if _, err := New(p, configtest.Values(map[string]any{"checkpointing": false})); (err != nil) != locks {
			t.Errorf("%s: turning checkpointing off: %v", on, err)
		}
	}
}
