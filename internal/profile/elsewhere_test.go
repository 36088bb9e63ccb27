// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// small returns the setup of a small transformer with 128 tokens.
func small(kind string, more map[string]any) map[string]any {
	config := map[string]any{"model_type": kind, "hidden_size": 512.0, "num_hidden_layers": 6.0, "num_attention_heads": 8.0, "intermediate_size": 1536.0, "vocab_size": 8000.0}
	maps.Copy(config, more)
	return map[string]any{"model": map[string]any{"config": config}, "seq": 128.0, "precision": "amp-bf16", "steps": 3.0}
}

// transformers returns a few setups by name.
func transformers() map[string]map[string]any {
	return map[string]map[string]any{
		"llama": small("llama", nil), "bert": small("bert", nil),
		"gpt2": small("gpt2", map[string]any{"n_embd": 512.0, "n_layer": 6.0, "n_head": 8.0}),
	}
}

// simulatedOn returns the stream of a setup with the given batch on a card.
func simulatedOn(t *testing.T, fields map[string]any, batch int64, card gpu.Card) *stream.Trace {
	t.Helper()
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

// cardNamed returns a card from the catalog.
func cardNamed(t *testing.T, name string) gpu.Card {
	t.Helper()
	card, err := gpu.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// TestElsewhere checks that recordings from one card predict the reserved memory on other cards with the same
// attention kernels.
func TestElsewhere(t *testing.T) {
	for name, fields := range transformers() {
		of := func(batch int64, card gpu.Card) *stream.Trace { return simulatedOn(t, fields, batch, card) }
		p := fitted(t, at(4, of(4, gpu.Reference)), at(6, of(6, gpu.Reference)))
		for _, on := range []string{"RTX-4090", "A100-80GB", "L4"} {
			card := cardNamed(t, on)
			got, err := p.elsewhere(card, &p.variants[1]).Predict(Point{"batch": 24})
			if err != nil {
				t.Fatal(err)
			}
			if want := peakOf(t, of(24, card), p); got.PeakReserved != want.PeakReserved {
				t.Errorf("%s on %s: %d reserved, simulated %d", name, on, got.PeakReserved, want.PeakReserved)
			}
		}
		if p.elsewhere(gpu.Reference, &p.variants[1]) != nil || p.elsewhere(gpu.Card{}, &p.variants[1]) != nil {
			t.Errorf("%s: the recorded card, or an unknown one, was treated as another card", name)
		}
	}
}

// TestSumsOfTheRecordedCard checks that recordings with a named card use that card's rules for sums and cuBLAS.
func TestSumsOfTheRecordedCard(t *testing.T) {
	for name, fields := range transformers() {
		for _, on := range []string{"T4", "A100-80GB", "RTX-4090", "B200"} {
			card := cardNamed(t, on)
			four, six := at(4, simulatedOn(t, fields, 4, card)), at(6, simulatedOn(t, fields, 6, card))
			four.Card, six.Card = on, on
			p := fitted(t, four, six)
			got, err := p.Predict(Point{"batch": 12})
			if err != nil {
				t.Fatal(err)
			}
			if want := peakOf(t, simulatedOn(t, fields, 12, card), p); got.PeakReserved != want.PeakReserved {
				t.Errorf("%s on %s: %d reserved, simulated %d", name, on, got.PeakReserved, want.PeakReserved)
			}
		}
	}
}

// TestUnplaced checks that recordings without a card are reported if sums on another card could change the peak,
// unless a recorded sum matches the reference card.
func TestUnplaced(t *testing.T) {
	fields := transformers()["bert"]
	of := func(batch int64) Input { return at(batch, simulatedOn(t, fields, batch, gpu.Reference)) }
	fit := func(card string, batches ...int64) *Program {
		var inputs []Input
		for _, b := range batches {
			in := of(b)
			in.Card = card
			inputs = append(inputs, in)
		}
		return fitted(t, inputs...)
	}
	for _, c := range []struct {
		name string
		p    *Program
		want bool
	}{
		{"named", fit("NVIDIA H200", 4, 6), false},
		{"unnamed, too small for a buffer", fit("", 4, 6), true},
		{"of an unknown card", fit("Someone's own", 4, 6), true},
		{"unnamed, with the reference card's buffer", fit("", 6, 12), false},
	} {
		if got := c.p.Unplaced(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		m, err := c.p.Margin(Point{"batch": 12}, gpu.Card{}, reservedAt(Point{"batch": 12}))
		if err != nil {
			t.Fatal(err)
		}
		if wide := m.Less > 0 || m.More > 0; wide != c.want {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
}

// TestRecordedOnTwoCards checks that recordings from two kinds of cards are refused.
func TestRecordedOnTwoCards(t *testing.T) {
	fields := transformers()["llama"]
	a, b := at(4, simulatedOn(t, fields, 4, gpu.Reference)), at(6, simulatedOn(t, fields, 6, gpu.Reference))
	a.Card, b.Card = "NVIDIA H200", "NVIDIA A100-SXM4-80GB"
	if _, err := Fit([]Input{a, b}); err == nil || !strings.Contains(err.Error(), "record both on one card") {
		t.Errorf("got %v", err)
	}
}
