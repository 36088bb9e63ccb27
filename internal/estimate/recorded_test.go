// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"encoding/json"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/profile/profiletest"
	"snug/internal/setup"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// towers returns a profile of a model that no family covers, recorded with a probe.
func towers(t *testing.T) *profile.Program {
	t.Helper()
	p := profiletest.Towers(t)
	p.Facts = profile.Facts{
		Params: 11919864, Trainable: 11919864, Parameters: 47679456, Gradients: 47679456, States: 95358912, Accumulation: 1,
		Timings: []profile.Timing{{At: profile.Point{"batch": 64}, Seconds: 0.020}, {At: profile.Point{"batch": 96}, Seconds: 0.025}},
	}
	return p
}

func decoded(t *testing.T, p *profile.Program, fields map[string]any) *setup.Setup {
	t.Helper()
	fields["model"] = map[string]any{"profile": "m.snug"}
	s, err := setup.Decode(fields, setup.Source{Programs: map[string]setup.Program{"m.snug": AsModel(p)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func estimated(t *testing.T, s *setup.Setup, card gpu.Card) *Answer {
	t.Helper()
	a, err := Estimate(s, card)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRecordedEstimate checks that the estimated peak equals the measured one at a size that was not recorded.
func TestRecordedEstimate(t *testing.T) {
	p := towers(t)
	a := estimated(t, decoded(t, p, map[string]any{"batch": 512.0}), gpu.Reference)
	if a.PeakReserved != 2323644416 || a.PeakAllocated != 1883687424 {
		t.Errorf("peaks %d and %d, measured 2323644416 and 1883687424", a.PeakReserved, a.PeakAllocated)
	}
	if want := 0.02 + 448*0.005/32; a.StepSeconds != micros(want) {
		t.Errorf("%g s per step, want %g", a.StepSeconds, want)
	}
	c := a.Components
	if sum := c.Parameters + c.Gradients + c.Optimizer + c.Activations + c.Fragmentation; sum != a.PeakReserved || c.Parameters != 47679456 {
		t.Errorf("components %+v sum to %d", c, sum)
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []string{"phases", "logits", "temporaries", "gradients"} {
		if strings.Contains(string(text), unknown) {
			t.Errorf("%s contains %s, which a recording does not show", text, unknown)
		}
	}
	other, err := gpu.Find("T4")
	if err != nil {
		t.Fatal(err)
	}
	if a := estimated(t, decoded(t, p, map[string]any{"batch": 512.0}), other); a.StepSeconds != 0 {
		t.Errorf("StepSeconds on another card: %g", a.StepSeconds)
	}
}

// TestRecordedAccumulation checks that gradients that stay over several forwards, and DDP's buckets, are added to a
// recording with one forward per step on one GPU.
func TestRecordedAccumulation(t *testing.T) {
	p := towers(t)
	peak := func(fields map[string]any) uint64 {
		fields["batch"] = 512.0
		return estimated(t, decoded(t, p, fields), gpu.Card{}).PeakAllocated
	}
	const gradients = 47679456
	near := func(got, want uint64) bool { return got >= want && got < want+2<<20 } // the end of a segment may be included
	once := peak(map[string]any{})
	if got := peak(map[string]any{"accumulation": 4.0}); !near(got, once+gradients) {
		t.Errorf("accumulation adds %d, want %d", got-once, gradients)
	}
	ddp := map[string]any{"kind": "ddp", "world": 2.0}
	if got := peak(map[string]any{"accumulation": 4.0, "dist": ddp}); !near(got, once+2*gradients) {
		t.Errorf("with DDP it adds %d, want %d", got-once, 2*gradients)
	}
	p.Facts.Accumulation = 4
	if got := peak(map[string]any{"accumulation": 8.0}); got != once {
		t.Errorf("recorded with accumulation: %d, want %d", got, once)
	}
}

func TestRecordedMaxBatch(t *testing.T) {
	p := towers(t)
	s := decoded(t, p, map[string]any{"batch": 1.0, "limit": 2323644416.0})
	m, err := MaxBatch(s, gpu.Reference)
	if err != nil {
		t.Fatal(err)
	}
	if m.MaxBatch < 512 || m.PeakReserved > 2323644416 || m.Next == nil {
		t.Errorf("largest batch %d with %d, but 512 was measured to fit", m.MaxBatch, m.PeakReserved)
	}
}

// TestSafeBatch checks that the safe batch is the largest whose whole interval fits.
func TestSafeBatch(t *testing.T) {
	p := towers(t)
	for _, c := range []struct {
		limit float64
		like  *Answer
	}{{2323644416, nil}, {700 << 20, nil}, {2323644416, &Answer{measured: &Range{Cases: 4, High: 0.2}}}, {64 << 20, nil}} {
		m, err := MaxBatch(decoded(t, p, map[string]any{"batch": 1.0, "limit": c.limit}), gpu.Reference)
		if err != nil {
			t.Fatal(err)
		}
		safe, err := m.SafeBatch(c.like)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		for batch := 1; batch <= m.MaxBatch; batch++ {
			a, err := m.estimateAt(batch, c.like)
			if err != nil {
				t.Fatal(err)
			}
			if a.MightNotFit() {
				break
			}
			last = batch
		}
		got := 0
		if safe != nil {
			got = safe.Setup.Batch
		}
		if got != last || m.MaxBatch > 0 && got >= m.MaxBatch {
			t.Errorf("limit %.0f: safe batch is %d, want %d; largest batch is %d", c.limit, got, last, m.MaxBatch)
		}
	}
}

// TestOtherOptionsTakeSmallerBlocks checks a run that fits only with other options: tensors of 11 MiB get blocks of
// 12 MiB in separate segments, but of 11 MiB in an expandable segment.
func TestOtherOptionsTakeSmallerBlocks(t *testing.T) {
	var inputs []profile.Input
	for _, batch := range []int64{2, 3} {
		tr := stream.New(200)
		for range 100 {
			tr.Alloc(uint64(batch)*11<<19, 0)
		}
		for id := range tr.Allocations() {
			tr.Free(id)
		}
		inputs = append(inputs, profile.Input{Name: "equal", At: profile.Point{"batch": batch}, Recording: &snapshot.Recording{
			Torch: "2.11", Settings: snapshot.Settings{MaxSplitSize: -1}, Stacks: [][]uint32{nil},
			Devices: []snapshot.Device{{Trace: tr, Entries: len(tr.Events)}},
		}})
	}
	program, err := profile.Fit(inputs)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProbe(decoded(t, program, map[string]any{"batch": 2.0}), gpu.Card{})
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1120 << 20
	for conf, want := range map[string]bool{"": false, "expandable_segments:True": true} {
		if v, err := p.Within(limit, conf); err != nil || v.Fits != want {
			t.Errorf("%q: fits %v, want %v (%v); blocks of %d", conf, v.Fits, want, err, p.peaks.Allocated)
		}
	}
}

// TestRecordedProbeErrors checks that a run that exceeds any memory fits no card but causes no error, while other
// mistakes do.
func TestRecordedProbeErrors(t *testing.T) {
	p := towers(t)
	for _, c := range []struct {
		name   string
		change func(*setup.Setup)
		err    string
	}{
		{"as recorded", func(*setup.Setup) {}, ""},
		{"an absurd batch", func(s *setup.Setup) { s.Batch = 1 << 50 }, ""},
		{"an absurd batch, played", func(s *setup.Setup) { s.Batch, s.Accumulation = 1<<50, 2 }, ""},
		{"invalid options", func(s *setup.Setup) { s.Allocator = "nonsense:1" }, "nonsense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := decoded(t, p, map[string]any{"batch": 64.0})
			c.change(s)
			probe, err := NewProbe(s, gpu.Card{})
			switch {
			case c.err == "" && err != nil:
				t.Fatal(err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Fatalf("error %v, want one about %s", err, c.err)
			case c.err == "" && (probe.peaks.Reserved == endless) != (s.Batch > 1<<40):
				t.Errorf("batch %d: %d bytes reserved", s.Batch, probe.peaks.Reserved)
			}
		})
	}
}
