// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

func named(t testing.TB, fields map[string]any) *setup.Setup {
	t.Helper()
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// anyCard returns the reference card without a limit.
func anyCard() gpu.Card {
	c := gpu.Reference
	c.Total = 0
	return c
}

// asProgram configures the garbage collector as the program does.
func asProgram(b *testing.B) {
	was := debug.SetGCPercent(400)
	b.Cleanup(func() { debug.SetGCPercent(was) })
}

func BenchmarkLlama8B(b *testing.B) {
	asProgram(b)
	s := named(b, map[string]any{"model": map[string]any{"name": "llama-3.1-8b"}, "batch": 2.0, "seq": 2048.0, "precision": "bf16"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Estimate(s, anyCard()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProbeMamba measures one probe of a search, with a model that runs token by token.
func BenchmarkProbeMamba(b *testing.B) {
	asProgram(b)
	s := named(b, map[string]any{"model": map[string]any{"name": "mamba-130m"}, "batch": 4.0, "seq": 1024.0})
	b.ReportAllocs()
	for b.Loop() {
		p, err := NewProbe(s, anyCard())
		if err == nil {
			_, err = p.Peaks()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMamba measures an answer for a model that runs token by token; only a few of its thirteen million events
// are played.
func BenchmarkMamba(b *testing.B) {
	asProgram(b)
	s := named(b, map[string]any{"model": map[string]any{"name": "mamba-130m"}, "batch": 1.0, "seq": 8192.0})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Estimate(s, anyCard()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMeasuredCases estimates every case in dev.jsonl, one after another.
func BenchmarkMeasuredCases(b *testing.B) {
	asProgram(b)
	f, err := os.Open("../../testdata/measured/dev.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var setups []*setup.Setup
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var row struct{ Setup map[string]any }
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			b.Fatal(err)
		}
		if s, err := setup.Decode(row.Setup, setup.Source{}); err == nil {
			setups = append(setups, s)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		for _, s := range setups {
			if _, err := Estimate(s, anyCard()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkMaxBatch measures one search, on one core and on two.
func BenchmarkMaxBatch(b *testing.B) {
	asProgram(b)
	card, err := gpu.Find("A100-80GB")
	if err != nil {
		b.Fatal(err)
	}
	for _, model := range []string{"gpt2", "mamba-130m"} {
		s := named(b, map[string]any{"model": map[string]any{"name": model}, "batch": 1.0, "seq": 512.0})
		for _, cores := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/cores=%d", model, cores), func(b *testing.B) {
				for b.Loop() {
					if _, err := NewCores(cores).MaxBatch(s, card); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkVaryingLengths measures an answer for two hundred steps, most of them with different lengths.
func BenchmarkVaryingLengths(b *testing.B) {
	asProgram(b)
	lengths := map[string]any{"lognormal": map[string]any{"median": 160.0, "sigma": 0.6, "max": 1024.0}}
	s := named(b, map[string]any{"model": map[string]any{"name": "qwen2-0.5b"}, "batch": 3.0, "precision": "amp-bf16", "steps": 200.0, "lengths": lengths})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Estimate(s, anyCard()); err != nil {
			b.Fatal(err)
		}
	}
}
