// SPDX-License-Identifier: Apache-2.0

package estimate

import "testing"

// TestFloat16Interval checks that the measured memory of a run that skipped updates is within the interval, although
// the estimate is for a run that skips none.
func TestFloat16Interval(t *testing.T) {
	for _, x := range []struct {
		name  string
		model map[string]any
		more  map[string]any
		took  []uint64 // after three and after twenty steps
	}{
		{
			"mamba2", map[string]any{"config": map[string]any{
				"model_type": "mamba2", "vocab_size": 50288.0, "hidden_size": 768.0, "num_hidden_layers": 24.0,
				"num_heads": 24.0, "head_dim": 64.0, "state_size": 128.0, "n_groups": 1.0,
			}, "head": "causal-lm"},
			map[string]any{"batch": 2.0, "seq": 256.0, "optimizer": "adamw", "clip": true},
			[]uint64{7285506048, 8898215936},
		},
		{
			"distilbert", map[string]any{"config": map[string]any{"model_type": "distilbert", "n_layers": 4.0}, "head": "encoder"},
			map[string]any{"batch": 8.0, "seq": 200.0, "optimizer": "sgd-momentum", "attention": "eager"},
			[]uint64{956301312, 956301312},
		},
	} {
		fields := map[string]any{"model": x.model, "precision": "amp-fp16"}
		for k, v := range x.more {
			fields[k] = v
		}
		a, err := Estimate(named(t, fields), anyCard())
		if err != nil {
			t.Fatal(err)
		}
		for _, took := range x.took {
			if took < a.Interval[0] || took > a.Interval[1] {
				t.Errorf("%s took %d, which is outside %v", x.name, took, a.Interval)
			}
		}
	}
}
