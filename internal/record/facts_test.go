// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"

	"snug/internal/run"
)

func TestPrecisionOf(t *testing.T) {
	for _, c := range []struct{ weights, autocast, want string }{
		{"float32", "", "fp32"},
		{"float32", "bfloat16", "amp-bf16"},
		{"bfloat16", "", "bf16"},
		{"bfloat16", "bfloat16", "amp-bf16"}, // as transformers 5 loads it
		{"float16", "bfloat16", "amp-bf16"},
		{"float8_e4m3fn", "bfloat16", ""},
	} {
		x := &run.Report{State: &run.State{Dtypes: map[string]int{c.weights: 100, "int64": 1}}, Batches: []run.Batch{{Autocast: c.autocast}}}
		if got := precisionOf(x); got != c.want {
			t.Errorf("%s under autocast to %q: %q, want %q", c.weights, c.autocast, got, c.want)
		}
	}
}
