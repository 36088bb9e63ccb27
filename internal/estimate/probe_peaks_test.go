// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"context"
	"testing"

	"snug/internal/gpu"
	"snug/internal/units"
)

// TestQuestionsBeforePeaks checks that a probe gives the same answers about limits before and after its peaks are
// known.
func TestQuestionsBeforePeaks(t *testing.T) {
	s := named(t, mamba(map[string]any{"seq": 300.0, "batch": 3.0, "checkpointing": true, "accumulation": 2.0}))
	fresh := func() *Probe {
		p, err := NewProbeUpTo(context.Background(), s, gpu.Reference, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	known := fresh()
	peaks := peaksOf(t, known)
	step := (peaks.Reserved*5/4 - peaks.Allocated*3/4) / 24
	retried := false
	for limit := peaks.Allocated * 3 / 4; limit < peaks.Reserved*5/4; limit += step {
		want, err := known.Within(limit, "")
		if err != nil {
			t.Fatal(err)
		}
		retried = retried || want.Fits && limit < peaks.Reserved
		p := fresh()
		for range 2 { // the second answer is cached
			if got, err := p.Within(limit, ""); err != nil || got != want {
				t.Errorf("within %v: %+v, %v; with known peaks: %+v", units.Bytes(limit), got, err, want)
			}
		}
		for _, q := range []*Probe{p, fresh()} {
			for _, less := range []uint64{0, step} {
				at := limit - less
				if got, err := q.Stays(at, ""); err != nil || got != (peaks.Reserved <= at) {
					t.Errorf("stays in %v: %t, %v; it reserves %v", units.Bytes(at), got, err, units.Bytes(peaks.Reserved))
				}
			}
			if got := peaksOf(t, q); got != peaks {
				t.Errorf("after %v: peaks %v, before any limit %v", units.Bytes(limit), got, peaks)
			}
		}
	}
	if !retried {
		t.Error("no limit makes PyTorch flush its cache")
	}
}

// TestPlaysOnlyWhenAsked checks that a run with loops is not played if only its speed is needed, or if its tensors
// alone are too large.
func TestPlaysOnlyWhenAsked(t *testing.T) {
	p, err := NewProbe(named(t, mamba(map[string]any{"seq": 300.0})), gpu.Reference)
	if err != nil {
		t.Fatal(err)
	}
	made, plays := p.run, 0
	p.run = func() (*run, error) { plays++; return made() }
	p.Seconds(gpu.Reference, 1)
	v, err := p.Within(p.PeakRequested-1, "")
	stays, err2 := p.Stays(p.PeakRequested-1, "")
	if v.Fits || stays || err != nil || err2 != nil || plays != 0 {
		t.Errorf("played %d times; fits %t, stays %t, %v, %v", plays, v.Fits, stays, err, err2)
	}
	requested := p.PeakRequested
	peaksOf(t, p)
	peaksOf(t, p)
	got, err := p.play("", 0, 0)
	if err != nil || plays != 2 || got.requested != requested {
		t.Errorf("played %d times, want 2; requests %d, want %d; %v", plays, requested, got.requested, err)
	}
}
