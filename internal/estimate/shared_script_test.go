// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"sync"
	"testing"

	"snug/internal/setup"
)

// TestSharedScript estimates two splits of one effective batch at the same time, as a plan does. They share the script,
// and the time of one must not depend on what the other has learned from it.
func TestSharedScript(t *testing.T) {
	s, err := setup.Decode(map[string]any{
		"model": map[string]any{"config": map[string]any{"model_type": "llama", "hidden_size": 64.0, "intermediate_size": 128.0, "num_hidden_layers": 1.0, "num_attention_heads": 4.0, "num_key_value_heads": 4.0, "vocab_size": 512.0}},
		"batch": 4.0, "accumulation": 2.0, "seq": 32.0, "loop": "trainer", "precision": "amp-fp16",
	}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	card := cardNamed(t, "T4")
	one := *s
	one.Batch, one.Accumulation = 8, 1
	splits := []*setup.Setup{s, &one}
	want := []float64{estimated(t, s, card).StepSeconds, estimated(t, &one, card).StepSeconds}
	if want[0] <= want[1] {
		t.Fatalf("4 × 2 takes %v s, 8 × 1 takes %v s", want[0], want[1])
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if a, err := Figures(splits[i%2], card); err != nil || a.StepSeconds != want[i%2] {
				t.Errorf("%d × %d: %v s, %v; want %v", splits[i%2].Batch, splits[i%2].Accumulation, a.StepSeconds, err, want[i%2])
			}
		})
	}
	all.Wait()
}
