// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"strings"
	"testing"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/profile/profiletest"
	"snug/internal/setup"
	"snug/internal/snapshot"
	"snug/internal/stream"
	"snug/internal/units"
)

// towers returns a profile of a model that no family covers, recorded with a probe.
func towers(t *testing.T, facts profile.Facts) setup.Program {
	t.Helper()
	p := profiletest.Towers(t)
	p.Facts = facts
	return estimate.AsModel(p)
}

func recordedSetup(t *testing.T, p setup.Program) *setup.Setup {
	t.Helper()
	s, err := setup.Decode(map[string]any{
		"model": map[string]any{"profile": "m.snug"}, "batch": 64.0, "accumulation": 64.0,
	}, setup.Source{Programs: map[string]setup.Program{"m.snug": p}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func timings(two, three float64) []profile.Timing {
	return []profile.Timing{{At: profile.Point{"batch": 64}, Seconds: two}, {At: profile.Point{"batch": 96}, Seconds: three}}
}

// TestRecordedSearch checks that the recommended batch is the largest that divides the effective batch and fits, if
// larger batches are faster. Each batch is tried with a full estimate.
func TestRecordedSearch(t *testing.T) {
	s := recordedSetup(t, towers(t, profile.Facts{
		Params: 11919864, Trainable: 11919864, Parameters: 47679456, Gradients: 47679456, States: 95358912,
		Accumulation: 2, Precision: "amp-fp16", Optimizer: "AdamW", Timings: timings(0.020, 0.025),
	}))
	card := gpu.ForMemory(8 * units.GiB)
	p, err := Search(Request{Setup: s, Card: card})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Recommended.settings
	if got.effective() != 64*64 || got.precision != "amp-fp16" || got.optimizer != "adamw" || got.checkpointing {
		t.Errorf("recommended %+v", got)
	}
	for _, batch := range divisors(64 * 64) {
		x := got
		x.batch, x.accumulation = batch, 4096/batch
		a, err := estimate.Estimate(x.on(s), card)
		if err != nil {
			t.Fatal(err)
		}
		if need := a.Interval[1] + a.Outside; batch > got.batch && need < card.Total*95/100 {
			t.Errorf("batch %d was chosen, though %d takes no more than %d", got.batch, batch, need)
		}
	}
	if len(p.Ladder) != 4 || p.Ladder[3].Choice == nil || p.Ladder[3].settings.batch < got.batch {
		t.Errorf("ladder %+v", p.Ladder)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{"stay as recorded", "Speeds are for NVIDIA H200"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
	for _, l := range p.Levers {
		if strings.Contains(l.Change, "precision") || strings.Contains(l.Change, "optimizer") {
			t.Errorf("lever %q, which recordings do not cover", l.Change)
		}
	}
}

func TestRecordedWithoutTimes(t *testing.T) {
	s := recordedSetup(t, towers(t, profile.Facts{}))
	p, err := Search(Request{Setup: s, Card: gpu.ForMemory(8 * units.GiB), Target: 251})
	if err != nil {
		t.Fatal(err)
	}
	if p.Timed || p.Recommended.SamplesPerSecond != 0 {
		t.Errorf("%g samples per second for an untimed run", p.Recommended.SamplesPerSecond)
	}
	if p.Recommended.settings.batch != 251 {
		t.Errorf("batch %d", p.Recommended.settings.batch)
	}
	_, err = Search(Request{Setup: s, Card: gpu.Reference, Allow: []string{"precision"}})
	if err == nil || !strings.Contains(err.Error(), "allow precision: a profile covers only the recorded settings") {
		t.Errorf("allowed what a profile cannot change: %v", err)
	}
}

// TestRecordedRescue checks that if nothing fits, only changes that a profile supports are proposed.
func TestRecordedRescue(t *testing.T) {
	s := recordedSetup(t, towers(t, profile.Facts{}))
	p, err := Search(Request{Setup: s, Card: gpu.ForMemory(900 * units.MiB)})
	if err != nil {
		t.Fatal(err)
	}
	if p.Recommended != nil || p.Least == nil || p.Rescued != nil {
		t.Errorf("recommended %+v, rescued %+v", p.Recommended, p.Rescued)
	}
}

func TestRecordedOnManyCards(t *testing.T) {
	s := recordedSetup(t, towers(t, profile.Facts{Timings: timings(0.020, 0.025)}))
	plans, err := SearchAll(context.Background(), Request{Setup: s}, gpu.Cards())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		switch {
		case p.Recommended == nil:
			t.Errorf("%s: nothing fits", p.GPU)
		case (p.Recommended.Estimate.StepSeconds > 0) != (p.GPU == "H200"):
			t.Errorf("%s: %g s per step, recorded on an H200", p.GPU, p.Recommended.Estimate.StepSeconds)
		}
	}
}

// BenchmarkRecordedSearch plans a step of a million events, as in a recurrent model that keeps its states until
// backward.
func BenchmarkRecordedSearch(b *testing.B) {
	long := func(unit uint64) *stream.Trace {
		t := stream.New(1_000_000)
		var kept []uint32
		for i := range 125_000 {
			x := t.Alloc(3*unit+uint64(i%7)*unit, 0)
			kept = append(kept, t.Alloc(2*unit, 0))
			t.Free(x)
			t.Free(t.Alloc(4096, 0))
		}
		for i := len(kept) - 1; i >= 0; i-- {
			g := t.Alloc(2*unit, 0)
			t.Free(kept[i])
			t.Free(g)
		}
		return t
	}
	var inputs []profile.Input
	for batch := range int64(2) {
		t := long(640 * uint64(batch+2))
		inputs = append(inputs, profile.Input{Name: "long", At: profile.Point{"batch": batch + 2}, Recording: &snapshot.Recording{
			Torch: "2.11", Settings: snapshot.Settings{MaxSplitSize: -1}, Stacks: [][]uint32{nil},
			Devices: []snapshot.Device{{Trace: t, Entries: len(t.Events)}},
		}})
	}
	p, err := profile.Fit(inputs)
	if err != nil {
		b.Fatal(err)
	}
	s, err := setup.Decode(map[string]any{"model": map[string]any{"profile": "m.snug"}, "batch": 2.0, "accumulation": 32.0},
		setup.Source{Programs: map[string]setup.Program{"m.snug": estimate.AsModel(p)}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Search(Request{Setup: s, Card: gpu.ForMemory(8 * units.GiB)}); err != nil {
			b.Fatal(err)
		}
	}
}
