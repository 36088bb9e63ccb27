// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"testing"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// TestPredictsWhatIsSimulated checks predictions for large sizes, from a setup simulated at small ones, against the
// simulation.
func TestPredictsWhatIsSimulated(t *testing.T) {
	bert := map[string]any{"model_type": "bert", "hidden_size": 128.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0, "intermediate_size": 512.0, "vocab_size": 2000.0}
	llama := map[string]any{"model_type": "llama", "hidden_size": 128.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0, "num_key_value_heads": 2.0, "intermediate_size": 256.0, "vocab_size": 2000.0}
	tests := map[string]struct {
		setup  map[string]any
		small  []int64
		large  []int64
		within float64
	}{
		"bert, with bias sums that split only in large batches": {
			map[string]any{"model": map[string]any{"config": bert, "head": "masked-lm"}, "seq": 64.0, "precision": "bf16"}, []int64{2, 3}, []int64{8, 64, 256}, 0},
		"checkpointed": {
			map[string]any{"model": map[string]any{"config": bert, "head": "masked-lm"}, "seq": 64.0, "precision": "amp-bf16", "checkpointing": true}, []int64{2, 3}, []int64{8, 64}, 0},
		"llama, from a batch of one": {
			map[string]any{"model": map[string]any{"config": llama}, "seq": 128.0, "precision": "amp-bf16"}, []int64{1, 2}, []int64{8, 32}, 0},
		"resnet18, with workspaces that change": {
			map[string]any{"model": map[string]any{"name": "torchvision/resnet18"}, "precision": "amp-bf16", "optimizer": "sgd-momentum"}, []int64{4, 6}, []int64{32, 128}, 0},
		"resnet50 in float32": {
			map[string]any{"model": map[string]any{"name": "torchvision/resnet50"}, "optimizer": "sgd-momentum"}, []int64{4, 6}, []int64{32, 128}, 0.01},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var inputs []Input
			for _, b := range tt.small {
				inputs = append(inputs, at(b, withBatch(tt.setup, b)))
			}
			p := fitted(t, inputs...)
			for _, b := range tt.large {
				got, err := p.Predict(Point{"batch": b})
				if err != nil {
					t.Fatal(err)
				}
				want := peakOf(t, withBatch(tt.setup, b), p)
				if off := float64(got.PeakReserved)/float64(want.PeakReserved) - 1; off < -tt.within || off > tt.within {
					t.Errorf("batch %d: peak reserved %d, want %d: off by %+.2f %%", b, got.PeakReserved, want.PeakReserved, 100*off)
				}
			}
		})
	}
}

func withBatch(setup map[string]any, batch int64) *stream.Trace {
	fields := maps.Clone(setup)
	fields["batch"], fields["steps"] = float64(batch), 2.0
	return simulated(fields)
}

func peakOf(t *testing.T, trace *stream.Trace, p *Program) allocator.Result {
	t.Helper()
	a, err := allocator.New(allocator.NewDriver(endless, 0), p.Torch, p.Options)
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Play(trace, allocator.PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestPredictsBatchAndSeq checks predictions from two quantities that vary one at a time.
func TestPredictsBatchAndSeq(t *testing.T) {
	model := map[string]any{"model": map[string]any{"config": map[string]any{"model_type": "llama", "hidden_size": 128.0, "num_hidden_layers": 2.0,
		"num_attention_heads": 4.0, "intermediate_size": 256.0, "vocab_size": 2000.0}}, "precision": "amp-bf16", "attention": "eager"}
	of := func(batch, seq int64) *stream.Trace {
		fields := maps.Clone(model)
		fields["seq"] = float64(seq)
		return withBatch(fields, batch)
	}
	var inputs []Input
	for _, s := range [][2]int64{{2, 128}, {3, 128}, {2, 192}, {3, 256}} {
		inputs = append(inputs, Input{Name: "x", At: Point{"batch": s[0], "seq": s[1]}, Recording: recording(of(s[0], s[1]))})
	}
	p := fitted(t, inputs...)
	for _, s := range [][2]int64{{8, 128}, {2, 512}, {8, 512}} {
		got, err := p.Predict(Point{"batch": s[0], "seq": s[1]})
		if err != nil {
			t.Fatal(err)
		}
		if want := peakOf(t, of(s[0], s[1]), p); got.PeakReserved != want.PeakReserved || got.PeakAllocated != want.PeakAllocated {
			t.Errorf("batch %d, seq %d: got %d and %d, want %d and %d", s[0], s[1], got.PeakReserved, got.PeakAllocated, want.PeakReserved, want.PeakAllocated)
		}
	}
}
