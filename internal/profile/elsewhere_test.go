// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// Recordings of one card tell what the run reserves on others with the same
// attention kernels.
func TestElsewhere(t *testing.T) {
	transformer := func(kind string, more map[string]any) map[string]any {
		config := map[string]any{"model_type": kind, "hidden_size": 512.0, "num_hidden_layers": 6.0, "num_attention_heads": 8.0, "intermediate_size": 1536.0, "vocab_size": 8000.0}
		maps.Copy(config, more)
		return map[string]any{"model": map[string]any{"config": config}, "seq": 128.0, "precision": "amp-bf16", "steps": 3.0}
	}
	for name, fields := range map[string]map[string]any{
		"llama": transformer("llama", nil), "bert": transformer("bert", nil),
		"gpt2": transformer("gpt2", map[string]any{"n_embd": 512.0, "n_layer": 6.0, "n_head": 8.0}),
	} {
		of := func(batch int64, card gpu.Card) *stream.Trace {
			f := maps.Clone(fields)
			f["batch"] = float64(batch)
			s, err := setup.Decode(f, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := simulate.Run(s, simulate.Options{Card: card})
			if err != nil {
				t.Fatal(err)
			}
			return r.World.Trace
		}
		p := fitted(t, at(4, of(4, gpu.Reference)), at(6, of(6, gpu.Reference)))
		for _, on := range []string{"RTX-4090", "A100-80GB", "L4"} {
			card, err := gpu.Find(on)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.elsewhere(card, &p.variants[1]).Predict(Point{"batch": 24})
			if err != nil {
				t.Fatal(err)
			}
			if want := peakOf(t, of(24, card), p); got.PeakReserved != want.PeakReserved {
				t.Errorf("%s on %s: %d reserved, simulated %d", name, on, got.PeakReserved, want.PeakReserved)
			}
		}
		if p.elsewhere(gpu.Reference, &p.variants[1]) != nil || p.elsewhere(gpu.Card{}, &p.variants[1]) != nil {
			t.Errorf("%s: the card of the recordings, or none, counts as another", name)
		}
	}
}
