// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"testing"

	"snug/internal/gpu"
	"snug/internal/units"
)

const expandable = "expandable_segments:True"

// TestUnderOtherOptions compares a probe played with other options with a probe that had them from the start, for a
// run with loops and one without.
func TestUnderOtherOptions(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"loops": mamba(map[string]any{"seq": 257.0, "batch": 3.0}),
		"none":  {"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "seq": 256.0, "precision": "amp-bf16"},
	} {
		p, err := NewProbe(named(t, fields), gpu.Reference)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Under(expandable)
		if err != nil {
			t.Fatal(err)
		}
		fields["allocator"] = expandable
		own, err := NewProbe(named(t, fields), gpu.Reference)
		if err != nil {
			t.Fatal(err)
		}
		if want := peaksOf(t, own).Reserved; got != want || got < peaksOf(t, p).Allocated {
			t.Errorf("%s: got %v, but %v as an option of the run", name, units.Bytes(got), units.Bytes(want))
		}
	}
}

// TestPlays checks that a search does not try options for which a long loop would have to be unfolded.
func TestPlays(t *testing.T) {
	for seq, want := range map[float64]bool{100: true, 4096: false} {
		p, err := NewProbe(named(t, mamba(map[string]any{"seq": seq})), gpu.Reference)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Plays(expandable); got != want {
			t.Errorf("at %g tokens, Plays with other options is %t", seq, got)
		}
		if !p.Plays("") {
			t.Errorf("at %g tokens, Plays with its own options is false", seq)
		}
	}
}

// TestEndlessUnderAnyOptions checks that a run that is known to be too large for every card is reported as too
// large with any options, without being played.
func TestEndlessUnderAnyOptions(t *testing.T) {
	p := &Probe{Setup: named(t, mamba(nil)), peaks: Peaks{endless, endless}, known: true, run: func() (*run, error) {
		t.Error("the run is played")
		return nil, nil
	}}
	if got, err := p.Under(expandable); got != endless || err != nil {
		t.Errorf("%d, %v", got, err)
	}
}

// TestRetriesAreTheLastSteps looks for limits at which each step makes PyTorch flush its cache. The verdict on a
// run that fits has the number of flushes in one step.
func TestRetriesAreTheLastSteps(t *testing.T) {
	p, err := NewProbe(named(t, map[string]any{"model": map[string]any{"name": "smollm2-135m"}, "batch": 3.0, "seq": 777.0, "precision": "amp-bf16", "checkpointing": true}), gpu.Reference)
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	peaks := peaksOf(t, p)
	for limit := peaks.Allocated; limit < peaks.Reserved; limit += (peaks.Reserved - peaks.Allocated) / 32 {
		v, err := p.Within(limit, p.Setup.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.play(p.Setup.Allocator, limit, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || v.Fits && v.Retries > 0
		if v.Fits && v.Retries != all.retries {
			t.Errorf("%d retries, but %d when played again", v.Retries, all.retries)
		}
	}
	if !seen {
		t.Error("no limit makes a step flush its cache")
	}
}

// TestMaxBatchGivesBackItsCore checks that a search releases its core.
func TestMaxBatchGivesBackItsCore(t *testing.T) {
	cores := NewCores(2)
	s := named(t, map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 64.0})
	for range 3 {
		if _, err := cores.MaxBatch(s, gpu.ForMemory(6*units.GiB)); err != nil {
			t.Fatal(err)
		}
	}
	if len(cores) != 0 {
		t.Errorf("%d cores are still in use", len(cores))
	}
}

// TestRecordedGradients checks that gradients are a component of a recorded run if they stay during the forward,
// which is the case if it was recorded with several forwards per step.
func TestRecordedGradients(t *testing.T) {
	for accumulation, want := range map[int]uint64{1: 0, 2: 47679456} {
		p := towers(t)
		p.Facts.Accumulation = accumulation
		a := estimated(t, decoded(t, p, map[string]any{"batch": 96.0, "accumulation": float64(accumulation)}), gpu.Reference)
		if got := a.Components.Gradients; got != want {
			t.Errorf("recorded with %d forwards per step: %d bytes of gradients, want %d", accumulation, got, want)
		}
	}
}

// TestBucketsAreGradients checks that DDP's buckets, which are a copy of the gradients, count as gradients.
func TestBucketsAreGradients(t *testing.T) {
	for _, view := range []bool{false, true} {
		copies := map[bool]uint64{false: 2, true: 1}[view]
		f := fields("gpt2", map[string]any{"batch": 1.0, "seq": 8.0, "precision": "fp32", "dist": map[string]any{"kind": "ddp", "world": 2.0, "bucket_view": view}})
		a, err := Estimate(named(t, f), anyCard())
		if err != nil {
			t.Fatal(err)
		}
		if c := a.Components; c.Gradients/c.Parameters != copies || c.Gradients%c.Parameters > 1<<20 {
			t.Errorf("bucket views %t: %d bytes of gradients, %d of parameters", view, c.Gradients, c.Parameters)
		}
	}
}
