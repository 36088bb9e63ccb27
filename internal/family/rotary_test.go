// SPDX-License-Identifier: Apache-2.0

package family

import (
	"testing"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// TestRotaryByType checks that each type of layer in the model gets a rotary embedding, scaled by that type's own
// parameters or by the old key shared by all types.
func TestRotaryByType(t *testing.T) {
	byType := map[string]any{"rope_parameters": map[string]any{
		"full_attention": map[string]any{"rope_type": "dynamic"}, "sliding_attention": map[string]any{"rope_type": "default"},
	}}
	forAll := map[string]any{"rope_scaling": map[string]any{"type": "dynamic"}}
	for _, c := range []struct {
		windows       []int
		keys          map[string]any
		full, sliding string
	}{
		{[]int{16, 0}, nil, "fixed", "fixed"},
		{[]int{0, 0}, nil, "fixed", "none"},
		{[]int{16, 16}, nil, "none", "fixed"},
		{[]int{16, 0}, byType, "measures", "fixed"},
		{[]int{16, 0}, forAll, "measures", "measures"},
	} {
		b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
		l := rotaryByType(b, NewConfig(c.keys), 16, c.windows)
		if full, sliding := kindOf(l.of(0)), kindOf(l.of(16)); full != c.full || sliding != c.sliding {
			t.Errorf("windows %v with %v: %s and %s, want %s and %s", c.windows, c.keys, full, sliding, c.full, c.sliding)
		}
	}
}

func kindOf(r *rotary) string {
	switch {
	case r == nil:
		return "none"
	case r.measures:
		return "measures"
	}
	return "fixed"
}
