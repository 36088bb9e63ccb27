// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"runtime/debug"
	"testing"

	"snug/internal/gpu"
)

// asProgram collects as rarely as the program does.
func asProgram(b *testing.B) {
	was := debug.SetGCPercent(400)
	b.Cleanup(func() { debug.SetGCPercent(was) })
}

// BenchmarkSearch is a full search on one card: recommendation, ladder, levers
// and reasons.
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

// BenchmarkSearchAll is the table over every card that is known.
func BenchmarkSearchAll(b *testing.B) {
	asProgram(b)
	r := Request{Setup: gpt2(b, map[string]any{"seq": 1024.0})}
	for b.Loop() {
		if _, err := SearchAll(r, gpu.Cards()); err != nil {
			b.Fatal(err)
		}
	}
}
