// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"runtime/debug"
	"testing"

	"snug/internal/gpu"
)

// asProgram configures the garbage collector as the program does.
func asProgram(b *testing.B) {
	was := debug.SetGCPercent(400)
	b.Cleanup(func() { debug.SetGCPercent(was) })
}

// BenchmarkSearch measures a full search on one card: recommendation, ladder, levers and rejections.
func BenchmarkSearch(b *testing.B) {
	asProgram(b)
	for _, x := range []struct {
		model string
		seq   float64
	}{{"gpt2", 1024}, {"bert-base", 256}, {"llama-3.2-1b", 1024}, {"mamba-130m", 1024}} {
		b.Run(x.model, func(b *testing.B) {
			s := run(b, map[string]any{
				"model": map[string]any{"name": x.model}, "batch": 2.0, "accumulation": 16.0, "seq": x.seq, "precision": "amp-bf16",
			})
			r := Request{Setup: s, Card: card(b, "A100-40GB")}
			for b.Loop() {
				if _, err := Search(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSearchSpread measures a search for an 80-layer model that does not fit eight GPUs unchanged.
func BenchmarkSearchSpread(b *testing.B) {
	asProgram(b)
	for _, kind := range []string{"fsdp2", "ddp"} {
		b.Run(kind, func(b *testing.B) {
			s := run(b, map[string]any{
				"model": map[string]any{"name": "llama-3.1-70b"}, "batch": 4.0, "accumulation": 4.0, "seq": 4096.0, "precision": "bf16",
				"dist": map[string]any{"kind": kind, "world": 8.0},
			})
			r := Request{Setup: s, Card: card(b, "H100-80GB")}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Search(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSearchLoops measures a search for the largest model that runs token by token, near the longest sequence
// that can be simulated.
func BenchmarkSearchLoops(b *testing.B) {
	asProgram(b)
	s := run(b, map[string]any{"model": map[string]any{"name": "mamba-2.8b"}, "batch": 8.0, "seq": 1536.0})
	r := Request{Setup: s, Card: card(b, "H100-80GB")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Search(r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearchAll measures the table over all known cards.
func BenchmarkSearchAll(b *testing.B) {
	asProgram(b)
	r := Request{Setup: gpt2(b, map[string]any{"seq": 1024.0})}
	for b.Loop() {
		if _, err := SearchAll(context.Background(), r, gpu.Cards()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearchAllSpread measures the table over all known cards for 80-layer models on eight GPUs.
func BenchmarkSearchAllSpread(b *testing.B) {
	asProgram(b)
	for _, name := range []string{"llama-3.1-70b", "qwen2.5-72b"} {
		b.Run(name, func(b *testing.B) {
			r := Request{Setup: run(b, map[string]any{
				"model": map[string]any{"name": name}, "batch": 2.0, "accumulation": 16.0, "seq": 2048.0, "precision": "bf16",
				"dist": map[string]any{"kind": "ddp", "world": 8.0},
			})}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := SearchAll(context.Background(), r, gpu.Cards()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSearchVarying measures a search for a run of forty steps with varying lengths.
func BenchmarkSearchVarying(b *testing.B) {
	asProgram(b)
	s := run(b, map[string]any{
		"model": map[string]any{"name": "gpt2"}, "batch": 8.0, "lengths": map[string]any{"uniform": []any{64.0, 512.0}},
	})
	r := Request{Setup: s, Card: card(b, "RTX-4090")}
	for b.Loop() {
		if _, err := Search(r); err != nil {
			b.Fatal(err)
		}
	}
}
