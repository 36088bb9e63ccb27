// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"maps"
	"math"
	"slices"
	"testing"
)

// The jobs of each kind. There are more than a hundred healthy ones, and a hundred that leak.
const firstSeed, endSeed = 100, 104

// TestHealthyJobs checks that no leak is seen in a job without one.
func TestHealthyJobs(t *testing.T) {
	kinds, n := healthy(), 0
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		seeds := []uint64{502}
		for seed := uint64(firstSeed); seed < endSeed; seed++ {
			seeds = append(seeds, seed)
		}
		for _, seed := range seeds {
			j := newJob(seed, name)
			kinds[name](j)
			events, oom := j.events()
			if oom > 0 {
				t.Errorf("%s/%d runs out of memory", name, seed)
				continue
			}
			n++
			if at := firstLeak(events); at != 0 {
				t.Errorf("%s/%d: a leak was seen at step %d", name, seed, at)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d jobs", n)
	}
}

// TestLeakingJobs checks that each leak is seen in time and stays reported, and the forecasts: from half-way on, nearly all are
// within 20 %, and nearly all intervals contain the step in which memory ran out. Those of jobs that change in a way that cannot be
// foreseen are not counted.
func TestLeakingJobs(t *testing.T) {
	kinds, n, steps := leaking(), 0, 0
	var all score
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for seed := uint64(firstSeed); seed < endSeed; seed++ {
			l := &leak{job: newJob(seed, name), within: 60}
			l.steps = 20_000
			kinds[name](l)
			events, oom := l.events()
			if oom == 0 {
				t.Errorf("%s/%d does not run out of memory", name, seed)
				continue
			}
			n++
			s := scored(events, l.begins, oom)
			steps += oom
			if s.early > 0 {
				t.Errorf("%s/%d: seen at step %d, before it began", name, seed, s.early)
			}
			last := min(l.begins+l.within, oom-1)
			if seen := s.seen > 0 && s.seen <= last; !seen && oom > firstSteps+fastPoints+1 && !(l.unclear && oom <= l.begins+l.within) {
				t.Errorf("%s/%d: seen at step %d, want by %d", name, seed, s.seen, last)
			}
			if s.lost > oom/20 && !l.unclear { // a leak by chance may pause
				t.Errorf("%s/%d: not reported in %d of %d steps", name, seed, s.lost, oom)
			}
			if !l.surprises {
				all.add(s)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d jobs", n)
	}
	t.Logf("%d jobs of %d steps", n, steps)
	all.check(t, 0.02)
}

// TestJoinedTensors checks the forecasts for a leak that needs the old and the new tensor at the same time: soon after its peaks
// exceed those of the batches, they are within 20 %.
func TestJoinedTensors(t *testing.T) {
	const name, soon = "joined to a longer tensor", 12
	n, off := 0, 0
	for seed := range uint64(12) {
		l := &leak{job: newJob(seed, name)}
		l.steps, l.jitter = 20_000, min(l.jitter, 1e-4)
		leaking()[name](l)
		events, oom := l.events()
		w, shows := New(Options{}), 0
		for _, e := range events {
			r, _ := w.Add(e)
			if e.Kind != KindStep || r.StepsToOOM == nil {
				continue
			}
			if above := float64(e.Step.PeakAllocated-e.Step.Allocated) / float64(l.card); above > l.needs {
				shows++
			}
			if shows <= soon || r.Step < oom/2 {
				continue
			}
			n++
			if math.Abs(float64(r.Step+r.StepsToOOM[1]-oom)) > 0.2*float64(oom) {
				off++
			}
		}
	}
	if n == 0 || off > n/50 {
		t.Errorf("%d of %d forecasts are off", off, n)
	}
}

// TestLeaksByChance checks that intervals allow for steps that leak or do not by chance.
func TestLeaksByChance(t *testing.T) {
	const name = "sometimes"
	n, missed := 0, 0
	for seed := uint64(500); seed < 516; seed++ {
		l := &leak{job: newJob(seed, name)}
		l.steps = 20_000
		leaking()[name](l)
		events, oom := l.events()
		s := scored(events, 0, oom)
		n, missed = n+s.intervals, missed+s.missed
	}
	if n == 0 || missed > n/20 {
		t.Errorf("%d of %d intervals miss", missed, n)
	}
}
