// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"snug/internal/setup"
)

// swept is a run of a sweep on an H200, in testdata/tune/h200.jsonl.
type swept struct {
	Sweep, Outcome      string
	Cap                 float64
	Batch, Accumulation int
	Checkpointing       *bool
	Early               bool
	Rate                float64 `json:"samples_per_second"`
	Reserved            uint64
}

func (s swept) variant() string {
	if s.Checkpointing != nil && !*s.Checkpointing {
		return "off"
	}
	return ""
}

// sweeps returns the measured runs by example and cap.
func sweeps(t *testing.T) map[string]map[float64][]swept {
	raw, err := os.ReadFile("../../testdata/tune/h200.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[float64][]swept{}
	for line := range strings.Lines(string(raw)) {
		var s swept
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Sweep == "" {
			continue
		}
		if out[s.Sweep] == nil {
			out[s.Sweep] = map[float64][]swept{}
		}
		out[s.Sweep][s.Cap] = append(out[s.Sweep][s.Cap], s)
	}
	return out
}

// guess is a way in which the predictions for a sweep may be wrong.
type guess struct {
	name   string
	memory func(batch int) float64 // ratio of predicted to measured memory
	speed  func(s, first swept) float64
}

var guesses = []guess{
	{"exact", func(int) float64 { return 1 }, func(s, _ swept) float64 { return s.Rate }},
	{"memory 4 % high", func(int) float64 { return 1.04 }, func(s, _ swept) float64 { return s.Rate }},
	{"memory 7 % low at every third batch", func(b int) float64 { return 1 - 0.07*float64((b/4+1)%3/2) }, func(s, _ swept) float64 { return s.Rate }},
	{"speeds of tiny recordings", func(int) float64 { return 1.02 }, func(_, first swept) float64 { return first.Rate / 3 }},
	{"speeds too flat", func(int) float64 { return 1 }, func(s, first swept) float64 { return 0.4 * first.Rate * math.Sqrt(s.Rate/first.Rate) }},
	{"speeds too steep", func(int) float64 { return 1 }, func(s, first swept) float64 { return first.Rate * math.Pow(s.Rate/first.Rate, 1.3) }},
}

// The climb finds the best settings of the measured sweeps, within 3 % and in at most five trials, however the
// predictions were wrong.
func TestClimbOnMeasuredSweeps(t *testing.T) {
	cases := 0
	for example, caps := range sweeps(t) {
		for limit, runs := range caps {
			for _, g := range guesses {
				cases++
				best, top, climb := climbSweep(t, runs, limit, caps[40], g)
				if best == nil || best.Rate < 0.97*top || climb.Runs() > DefaultTrials {
					t.Errorf("%s, %g GiB, %s: %v of %.0f in %d trials: %v", example, limit, g.name, best, top, climb.Runs(), keys(climb))
				}
			}
		}
	}
	t.Logf("%d climbs", cases)
}

// climbSweep climbs on a sweep, and returns the best trial and the best speed of the sweep. What did not fit under a cap
// takes as much memory as under the largest.
func climbSweep(t *testing.T, runs []swept, limit float64, largest []swept, g guess) (*Trial, float64, *Climb) {
	t.Helper()
	first := map[string]swept{}
	for _, s := range largest {
		if f, known := first[s.variant()]; s.Outcome == "fits" && (!known || s.Batch < f.Batch) {
			first[s.variant()] = s
		}
	}
	var list []Candidate
	measured := map[string]swept{}
	start, most, top := -1, 0.0, 0.0
	for i, s := range runs {
		like := largest[i]
		if like.Outcome != "fits" {
			like.Reserved, like.Rate = uint64(44*gib), first[s.variant()].Rate
		}
		predicted := float64(like.Reserved) * g.memory(s.Batch)
		if s.Outcome == "fits" { // at the limit, PyTorch flushes its cache, and snug simulates that
			predicted = min(predicted, limit*gib)
		}
		x := Candidate{
			Settings: setup.Assign("batch", s.Batch).With("variant", s.variant()), Variant: s.variant(), Batch: s.Batch, Accumulation: s.Accumulation, World: 1,
			Predicted: uint64(predicted), Expected: g.speed(like, first[s.variant()]),
		}
		if float64(x.Predicted) <= limit*gib && (x.Expected > most || x.Expected == most && x.Batch > list[start].Batch) {
			start, most = len(list), x.Expected
		}
		list = append(list, x)
		measured[x.Key()] = s
		if s.Outcome == "fits" {
			top = max(top, s.Rate)
		}
	}
	climb, err := New(list, start, Options{Limit: uint64(limit * gib)})
	if err != nil {
		t.Fatal(err)
	}
	for s := climb.Next(); s.Next != nil; s = climb.Next() {
		m := measured[s.Next.Key()]
		if m.Outcome != "fits" {
			climb.Record(*s.Next, Result{Outcome: OutOfMemory, Why: "no memory"})
			continue
		}
		climb.Record(*s.Next, Result{Outcome: Fits, Reserved: m.Reserved, Lasting: m.Reserved / 10, Rate: m.Rate, Noise: 0.003, Steps: 12})
	}
	return climb.Best(), top, climb
}
