// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/snapshot"
	"snug/internal/stream"
)

func TestParsePoint(t *testing.T) {
	tests := map[string]struct {
		want Point
		err  string
	}{
		"batch=2":         {Point{"batch": 2}, ""},
		"batch=2,seq=128": {Point{"batch": 2, "seq": 128}, ""},
		"batch = 2":       {Point{"batch": 2}, ""},
		"":                {nil, "is not a size"},
		"batch":           {nil, "is not a size"},
		"2=batch":         {nil, "is not a size"},
		"batch=0":         {nil, "a whole number"},
		"batch=two":       {nil, "a whole number"},
		"batch=1e99":      {nil, "a whole number"},
		"batch=99999999":  {nil, "too large for a training step"},
		"batch=2,batch=3": {nil, "batch twice"},
	}
	for text, tt := range tests {
		got, err := ParsePoint(text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("ParsePoint(%q) (-want +got):\n%s", text, diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParsePoint(%q): %v, want %q", text, err, tt.err)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	older, full, other := transformer(3), transformer(3), transformer(3)
	older.Recording.Torch = "2.4"
	full.Recording.Devices[0].OOMs = []snapshot.OOM{{Size: 1}}
	other.Recording.Settings = snapshot.Settings{Known: true, MaxSplitSize: 1 << 20}
	stranger := at(3, longTrace(50, 77777))
	together := transformer(3)
	together.At = Point{"batch": 3, "seq": 192}
	both := transformer(2)
	both.At = Point{"batch": 2, "seq": 128}
	tests := map[string]struct {
		inputs []Input
		want   string
	}{
		"nothing":             {nil, "two sizes or more"},
		"one":                 {[]Input{transformer(2)}, "two sizes or more"},
		"the same size twice": {[]Input{transformer(2), transformer(2)}, "both recorded at batch=2"},
		"another PyTorch":     {[]Input{transformer(2), older}, "from PyTorch 2.11"},
		"other settings":      {[]Input{transformer(2), other}, "different PYTORCH_CUDA_ALLOC_CONF"},
		"another program":     {[]Input{transformer(2), stranger}, "do not look like the same program"},
		"ran out of memory":   {[]Input{transformer(2), full}, "ran out of memory"},
		"no trace":            {[]Input{transformer(2), at(3, stream.New(0))}, "has no trace"},
		"other names":         {[]Input{transformer(2), both}, "name the same quantities"},
		"changed together":    {[]Input{both, together}, "change together"},
		"nothing changed":     {[]Input{transformer(2), labeled(transformer(2), 3)}, "allocate the same, although batch varies"},
		"swapped":             {[]Input{labeled(transformer(2), 3), labeled(transformer(3), 2)}, "are the sizes swapped?"},
		"another size":        {[]Input{transformer(4), labeled(transformer(6), 5)}, "grow faster than batch"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Fit(tt.inputs)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// labeled returns a recording labeled with the wrong batch.
func labeled(in Input, batch int64) Input {
	in.At = Point{"batch": batch}
	return in
}

func TestFitDoubts(t *testing.T) {
	longer := at(4, simulatedLlama(4, 128))
	tests := map[string]struct {
		inputs []Input
		want   string
	}{
		"plausible":                {[]Input{at(2, simulatedLlama(2, 64)), at(3, simulatedLlama(3, 64))}, ""},
		"longer sequences as well": {[]Input{at(2, simulatedLlama(2, 64)), longer}, "square of batch"},
	}
	for name, tt := range tests {
		p := fitted(t, tt.inputs...)
		if got := strings.Join(p.Warnings, "\n"); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// simulatedLlama returns a small Llama with fused attention, in which all sizes are proportional to batch times
// sequence length.
func simulatedLlama(batch, seq int64) *stream.Trace {
	return withBatch(map[string]any{"model": map[string]any{"config": map[string]any{"model_type": "llama", "hidden_size": 128.0, "num_hidden_layers": 2.0,
		"num_attention_heads": 4.0, "intermediate_size": 256.0, "vocab_size": 2000.0}}, "precision": "amp-bf16", "seq": float64(seq)}, batch)
}

func TestPredictRefuses(t *testing.T) {
	a, b := transformer(2), transformer(3)
	a.At["seq"], b.At["seq"] = 128, 128
	p := fitted(t, a, b)
	tests := map[string]struct {
		at   Point
		want string
	}{
		"not varied": {Point{"batch": 8, "seq": 256}, "seq is 128 in every recording"},
		"not named":  {Point{"batch": 8, "depth": 2}, "depth is not a quantity"},
		"missing":    {Point{"seq": 128}, "has no value for batch"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := p.Predict(tt.at)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := p.Predict(Point{"batch": 8, "seq": 128}); err != nil {
		t.Errorf("naming a quantity that does not vary: %v", err)
	}
}

func TestPredictBeyondAnyMemory(t *testing.T) {
	p := fitted(t, at(2, longTrace(20, 2<<36)), at(3, longTrace(20, 3<<36)))
	if _, err := p.Predict(Point{"batch": maxQuantity}); err == nil || !strings.Contains(err.Error(), "TiB") {
		t.Errorf("got %v", err)
	}
}
