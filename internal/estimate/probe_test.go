// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"math"
	"testing"

	"snug/internal/gpu"
	"snug/internal/units"
)

// TestProbe compares a probe's figures with the full estimate.
func TestProbe(t *testing.T) {
	tests := map[string]map[string]any{
		"gpt2":          {"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "seq": 512.0, "precision": "amp-bf16"},
		"accumulation":  {"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "seq": 512.0, "precision": "amp-bf16", "accumulation": 8.0},
		"checkpointing": {"model": map[string]any{"name": "smollm2-135m"}, "batch": 4.0, "seq": 512.0, "precision": "bf16", "accumulation": 4.0, "checkpointing": true},
		"scaler":        {"model": map[string]any{"name": "bert-base"}, "batch": 8.0, "seq": 128.0, "precision": "amp-fp16", "accumulation": 2.0, "clip": true},
		"images":        {"model": map[string]any{"name": "torchvision/resnet18"}, "batch": 32.0, "precision": "amp-bf16", "optimizer": "sgd-momentum"},
	}
	for name, fields := range tests {
		t.Run(name, func(t *testing.T) {
			s := named(t, fields)
			p, err := NewProbe(s, gpu.Reference)
			if err != nil {
				t.Fatal(err)
			}
			a, err := Estimate(s, gpu.Reference)
			if err != nil {
				t.Fatal(err)
			}
			if got := peaksOf(t, p).Reserved; math.Abs(float64(got)/float64(a.PeakReserved)-1) > 0.02 {
				t.Errorf("the probe reserves %v, the whole run %v", units.Bytes(got), units.Bytes(a.PeakReserved))
			}
			if got := p.Seconds(gpu.Reference, max(s.Accumulation, 1)); math.Abs(got-a.StepSeconds) > 1e-6 {
				t.Errorf("the probe takes %v s per step, the whole run %v", got, a.StepSeconds)
			}
			within(t, p)
		})
	}
}

func peaksOf(t *testing.T, p *Probe) Peaks {
	t.Helper()
	peaks, err := p.Peaks()
	if err != nil {
		t.Fatal(err)
	}
	return peaks
}

// within checks that more memory is never worse, up to the peaks.
func within(t *testing.T, p *Probe) {
	t.Helper()
	fitted, peaks := false, peaksOf(t, p)
	for limit := peaks.Allocated / 2; limit < peaks.Reserved*5/4; limit += peaks.Reserved / 16 {
		v, err := p.Within(limit, p.Setup.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		if fitted && !v.Fits {
			t.Errorf("does not fit %v, but fits less", units.Bytes(limit))
		}
		if v.Fits && limit < peaks.Allocated || !v.Fits && limit >= peaks.Reserved {
			t.Errorf("fits %v: %t, with peaks of %v and %v", units.Bytes(limit), v.Fits, units.Bytes(peaks.Allocated), units.Bytes(peaks.Reserved))
		}
		fitted = v.Fits
	}
}

// TestUnderIsRemembered asks a probe about several options in turn, as a search does, and checks that each is played
// only once.
func TestUnderIsRemembered(t *testing.T) {
	p, err := NewProbe(named(t, map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 2.0, "seq": 128.0}), gpu.Reference)
	if err != nil {
		t.Fatal(err)
	}
	made, plays := p.run, 0
	p.run = func() (*run, error) { plays++; return made() }
	options := []string{"expandable_segments:True", "max_split_size_mb:64"}
	first := map[string]uint64{}
	for range 3 {
		for _, conf := range options {
			got, err := p.Under(conf)
			if err != nil {
				t.Fatal(err)
			}
			if first[conf] == 0 {
				first[conf] = got
			}
			if got != first[conf] {
				t.Errorf("%s: %d, before %d", conf, got, first[conf])
			}
		}
	}
	if plays != len(options) {
		t.Errorf("%d plays, want %d", plays, len(options))
	}
}
