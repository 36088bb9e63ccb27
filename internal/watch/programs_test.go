// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// drawProgram draws what all programs have: a card, a cap, sizes and speeds.
func drawProgram(r *rand.Rand) program {
	p := program{seed: r.Uint64(), card: int64(pick(r, 6, 8, 11, 16, 24, 40, 48, 80, 141, 192) * (1 << 30)), steps: 150 + r.IntN(500)}
	if r.IntN(3) == 0 {
		p.limit = int64(float64(p.card) * (0.2 + 0.7*r.Float64()))
	}
	p.pace = 0.02 * math.Pow(200, r.Float64())
	p.sampled = pick(r, 0, 0.25, 1, 1, 5)
	p.stays, p.takes = 0.05+0.25*r.Float64(), 0.03+0.22*r.Float64()
	p.outputs = pick(r, 0, 0.001, 0.01, 0.05)
	return p
}

func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

type shaper = func(step int, r *rand.Rand) []int

func lengthsOf(f func(step int, r *rand.Rand) int) shaper {
	return func(step int, r *rand.Rand) []int { return []int{fullBatch, max(1, min(1024, f(step, r)))} }
}

// raggedShapes draws a distribution of lengths.
func raggedShapes(r *rand.Rand) (string, shaper) {
	low, high := 16+r.IntN(200), 300+r.IntN(500)
	typical, spread := 80+200*r.Float64(), 0.2+0.7*r.Float64()
	buckets := pick(r, []int{64, 128, 256, 512}, []int{100, 200, 300, 400, 500}, []int{384, 512})
	epoch := 30 + r.IntN(100)
	switch r.IntN(8) {
	case 0:
		return "uniform", lengthsOf(func(_ int, r *rand.Rand) int { return low + r.IntN(high-low) })
	case 1:
		return "lognormal", lengthsOf(func(_ int, r *rand.Rand) int { return int(typical * math.Exp(spread*r.NormFloat64())) })
	case 2:
		return "two kinds", lengthsOf(func(_ int, r *rand.Rand) int {
			if r.IntN(10) < 8 {
				return low + r.IntN(20)
			}
			return high + r.IntN(40)
		})
	case 3:
		return "buckets", lengthsOf(func(_ int, r *rand.Rand) int { return buckets[r.IntN(len(buckets))] })
	case 4:
		return "equal tokens", func(_ int, r *rand.Rand) []int {
			length := 64 << r.IntN(4)
			return []int{fullBatch * fullLength / length, length}
		}
	case 5:
		return "multiples of 64", lengthsOf(func(_ int, r *rand.Rand) int { return 64 * (1 + r.IntN(9)) })
	case 6:
		return "longest of eight", lengthsOf(func(_ int, r *rand.Rand) int {
			most := 0.0
			for range 8 {
				most = max(most, 90*math.Exp(0.6*r.NormFloat64()))
			}
			return int(most)
		})
	}
	return sortedLengths, lengthsOf(func(step int, r *rand.Rand) int { return 64 + 450*(step%epoch)/epoch + r.IntN(8) })
}

// sortedLengths are lengths that grow within each epoch. No later batch is as short as an earlier one, so until the next epoch
// nothing can be compared.
const sortedLengths = "sorted in epochs"

// curriculumShapes draws batches that grow for a while and then settle.
func curriculumShapes(r *rand.Rand) (string, shaper) {
	until, stages := 20+r.IntN(300), 3+r.IntN(8)
	low, high := 32+r.IntN(150), 300+r.IntN(500)
	linear := func(step int) int { return low + (high-low)*min(step, until)/until }
	switch r.IntN(5) {
	case 0:
		return "curriculum", lengthsOf(func(step int, _ *rand.Rand) int { return linear(step) })
	case 1:
		return "stages", lengthsOf(func(step int, _ *rand.Rand) int { return linear(min(step, until) * stages / until * until / stages) })
	case 2:
		return "ragged curriculum", lengthsOf(func(step int, r *rand.Rand) int { return linear(step)/2 + r.IntN(linear(step)/2+1) })
	case 3:
		return "growing batch", func(step int, _ *rand.Rand) []int { return []int{1 + 11*min(step, until)/until, 256} }
	}
	return "growing images", func(step int, _ *rand.Rand) []int {
		side := 32 + 8*(min(step, until)*8/until)
		return []int{fullBatch, 3, side, side * 2 / 3}
	}
}

// steadyProgram draws a program without a leak, with several things that could be mistaken for one.
func steadyProgram(r *rand.Rand) (string, program) {
	p := drawProgram(r)
	name := "full batches"
	switch r.IntN(4) {
	case 0:
		name, p.shape = raggedShapes(r)
	case 1:
		name, p.shape = curriculumShapes(r)
	case 2:
		epoch, rest := 20+r.IntN(100), 1+r.IntN(7)
		name, p.shape = "smaller last batches", func(step int, _ *rand.Rand) []int {
			if step%epoch == 0 {
				return []int{rest, fullLength}
			}
			return []int{fullBatch, fullLength}
		}
	}
	if r.IntN(3) == 0 {
		p.square = 0.5 * r.Float64()
	}
	if r.IntN(3) == 0 {
		p.evaluate, p.batches, p.larger = 10+r.IntN(100), 1+r.IntN(10), 0.5+3*r.Float64()
		p.collects = pick(r, 0, 0, 0.005*r.Float64())
		name += fmt.Sprintf(", evaluations every %d", p.evaluate)
	}
	if r.IntN(4) == 0 {
		p.save = 50 + r.IntN(100)
		name += ", checkpoints"
	}
	if r.IntN(3) == 0 {
		p.churn, p.lives = 0.03*r.Float64(), math.Pow(20, r.Float64())
		name += ", noise"
	}
	if r.IntN(3) == 0 {
		var more string
		more, p.grows = growing(r)
		name += ", " + more
	}
	p.hidden = p.shape == nil && r.IntN(5) == 0
	return name, p
}

// growing draws memory that grows without being a leak.
func growing(r *rand.Rand) (string, func(int) float64) {
	at, by, few := 5+r.IntN(200), 0.1*r.Float64(), 2+r.IntN(14)
	switch r.IntN(5) {
	case 0:
		return "average of the weights", func(step int) float64 { return by * float64(min(1, step/at)) }
	case 1:
		return "warm-up", func(step int) float64 { return by * float64(min(step, few)) / float64(few) }
	case 2:
		return "cache that fills", func(step int) float64 { return by * (1 - math.Exp(-2*float64(step)/float64(few))) }
	case 3:
		return "sawtooth", func(step int) float64 { return by / 3 * float64(step%few) / float64(few) }
	}
	return "spikes", func(step int) float64 { return by / 2 * float64(1-min(1, step%(3*few))) }
}

// TestSteadyPrograms checks that no leak is seen in 200 programs without one. With other seeds, one is seen in a few programs
// of a thousand, because slow noise can rise for as long as a small leak.
func TestSteadyPrograms(t *testing.T) {
	n := 0
	for i := range uint64(220) {
		name, p := steadyProgram(rand.New(rand.NewPCG(1, i)))
		events, oom := p.run()
		if oom > 0 {
			continue
		}
		n++
		if at := firstLeak(events); at != 0 {
			t.Errorf("program %d (%s): a leak was seen at step %d", i, name, at)
		}
	}
	if n < 200 {
		t.Errorf("only %d programs", n)
	}
}

// leakingProgram draws a program that leaks from a step on, and the number of steps within which that must be seen.
func leakingProgram(r *rand.Rand) (name string, p program, begins, within int) {
	p = drawProgram(r)
	p.steps = 3000
	rate := 0.0005 * math.Pow(20, r.Float64())
	each, part := pick(r, 10, 20, 50), pick(r, 0.01, 0.02, 0.04)
	every := func(step, _ int) float64 { return rate }
	within = 60
	kind := r.IntN(5)
	switch kind {
	case 0:
		name, p.keeps = fmt.Sprintf("%.4f a step", rate), every
	case 1:
		name, p.keeps, within = fmt.Sprintf("%g every %d steps", part, each), everyNth(each, part), max(60, 4*each)
	case 2:
		begins = 50 + r.IntN(300)
		name, p.keeps = fmt.Sprintf("%.4f a step from %d on", rate, begins), from(begins, every)
	case 3:
		p.evaluate, p.batches, p.larger, p.evalKeep = 10+r.IntN(40), 1+r.IntN(6), 0.5+2*r.Float64(), 0.01+0.02*r.Float64()
		name, within = fmt.Sprintf("%.3f in each evaluation, every %d steps", p.evalKeep, p.evaluate), max(60, 4*p.evaluate)
	case 4:
		name, p.keeps = fmt.Sprintf("%.4f a step, as large as the batch", rate), func(_, size int) float64 { return 2 * rate * float64(size) / (fullBatch * fullLength) }
	}
	p.pieces, p.midway = pick(r, 1, 1, 3, 20), r.IntN(2) == 0
	if kind == 4 || r.IntN(3) == 0 {
		var lengths string
		for lengths == "" || lengths == sortedLengths {
			lengths, p.shape = raggedShapes(r)
		}
		name, within = name+", "+lengths, within+20
	}
	if kind != 3 && r.IntN(4) == 0 {
		p.evaluate, p.batches, p.larger = 20+r.IntN(50), 1+r.IntN(6), 0.5+2*r.Float64()
		name += ", evaluations"
	}
	if r.IntN(4) == 0 {
		p.churn, p.lives = 0.01*r.Float64(), math.Pow(5, r.Float64())
		name, within = name+", noise", within+20
	}
	if r.IntN(5) == 0 {
		p.save = 50 + r.IntN(100)
		name += ", checkpoints"
	}
	return name, p, begins, within
}

// score counts forecasts.
type score struct {
	seen, early, lost int // steps at which the leak was seen and at which one was reported too early; steps without a report after seen
	intervals, missed int // forecasts, and those whose interval misses the step at which memory ran out
	half, off         int // forecasts from half-way on, and those that are off by more than 20 %
}

// scored watches a run that leaks from begins on and runs out of memory.
func scored(events []Event, begins, oom int) (s score) {
	w := New(Options{})
	for _, e := range events {
		r, _ := w.Add(e)
		if e.Kind != KindStep {
			continue
		}
		switch {
		case r.State == Leaking && r.Step < begins:
			s.early = r.Step
		case r.State == Leaking && s.seen == 0:
			s.seen = r.Step
		case r.State != Leaking && r.State != OutOfMemory && s.seen > 0:
			s.lost++
		}
		if r.StepsToOOM == nil {
			continue
		}
		s.intervals++
		if r.Step+r.StepsToOOM[0] > oom || r.Step+r.StepsToOOM[2] < oom {
			s.missed++
		}
		if r.Step > begins+(oom-begins)/2 {
			s.half++
			if math.Abs(float64(r.Step+r.StepsToOOM[1]-oom)) > 0.2*float64(oom) {
				s.off++
			}
		}
	}
	return s
}

// add adds the forecasts of another run.
func (s *score) add(x score) {
	s.intervals, s.missed = s.intervals+x.intervals, s.missed+x.missed
	s.half, s.off = s.half+x.half, s.off+x.off
}

// check checks the forecasts of several runs: nine in ten intervals contain the step at which memory ran out, and from half-way on,
// most forecasts are off by at most 20 %. The rest are of ragged batches, where it depends on the next long batch and on
// which pieces of the cache it can use.
func (s *score) check(t *testing.T, most float64) {
	t.Helper()
	t.Logf("%d of %d intervals miss; from half-way on, %d of %d forecasts are off", s.missed, s.intervals, s.off, s.half)
	if s.intervals == 0 || float64(s.missed) > 0.1*float64(s.intervals) {
		t.Errorf("%d of %d intervals miss", s.missed, s.intervals)
	}
	if s.half == 0 || float64(s.off) > most*float64(s.half) {
		t.Errorf("from half-way on, %d of %d forecasts are off by more than 20 %%", s.off, s.half)
	}
}

// TestLeakingPrograms checks when leaks are seen, that they stay reported, and the forecasts.
func TestLeakingPrograms(t *testing.T) {
	var all score
	n, late := 0, 0
	for i := range uint64(60) {
		name, p, begins, within := leakingProgram(rand.New(rand.NewPCG(1, i)))
		events, oom := p.run()
		if oom < begins+within+10 {
			continue
		}
		n++
		s := scored(events, begins, oom)
		all.add(s)
		if s.seen == 0 || s.early > 0 || s.lost > 0 {
			t.Errorf("program %d (%s): seen at step %d, %d before it began, not reported in %d steps", i, name, s.seen, s.early, s.lost)
		}
		if s.seen > begins+within {
			late++
			t.Logf("program %d (%s): seen after %d steps", i, name, s.seen-begins)
		}
	}
	if late > n/20 {
		t.Errorf("%d of %d leaks were seen late", late, n)
	}
	all.check(t, 0.1)
}

// withoutSteps returns what the driver alone reports about a run.
func withoutSteps(events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Kind == KindStep || e.Kind == KindOOM || e.Kind == KindLimit })
}

// TestProgramsFromTheDriver checks programs without their steps: no leak is seen in those without one, except if lengths grow,
// which looks the same from outside. Most leaks are seen before half of the run is over, and stay reported until memory falls,
// as it does when PyTorch flushes its cache.
func TestProgramsFromTheDriver(t *testing.T) {
	for i := range uint64(60) {
		name, p := steadyProgram(rand.New(rand.NewPCG(2, i)))
		p.sampled, p.limit = []float64{0.25, 1, 5}[i%3], 0
		events, oom := p.run()
		if oom > 0 || strings.Contains(name, "curriculum") || strings.Contains(name, "stages") || strings.Contains(name, "growing") || strings.Contains(name, sortedLengths) {
			continue
		}
		if slices.Contains(states(withoutSteps(events)), Leaking) {
			t.Errorf("program %d (%s): a leak was seen", i, name)
		}
	}
	n, late, reported, lost := 0, 0, 0, 0
	for i := range uint64(60) {
		_, p, begins, _ := leakingProgram(rand.New(rand.NewPCG(2, i)))
		p.sampled, p.limit, p.pace = []float64{0.25, 1}[i%2], 0, min(p.pace, 0.3)
		events, oom := p.run()
		if end := events[len(events)-1].T; oom == 0 || begins > 0 || p.shape != nil || end < 60*p.sampled {
			continue
		}
		n++
		w := New(Options{})
		seen := 0.0
		for _, e := range withoutSteps(events) {
			switch r, _ := w.Add(e); {
			case r.State == Leaking:
				seen, reported = cmp.Or(seen, e.T), reported+1
			case r.State != Ended && seen > 0 && !w.procs[1].fell:
				lost++
			}
		}
		if seen == 0 || seen > events[len(events)-1].T/2 {
			late++
		}
	}
	if n < 10 || late > n/10 || lost > reported/50 {
		t.Errorf("%d leaks: %d were seen late, %d samples reported one, %d no longer", n, late, reported, lost)
	}
}

// TestFirstSample checks a process that held memory before watching began: the window may begin with the first sample.
func TestFirstSample(t *testing.T) {
	w := New(Options{})
	util, seen := 97.0, 0
	for i := range 60 {
		used := share(0.2 + 0.01*float64(i))
		r, _ := w.Add(Event{T: float64(i), Kind: KindGPU, GPU: GPU{Total: genCard, Used: used, Util: &util, Procs: []Process{{PID: 1, Used: used}}}})
		if r.State == Leaking {
			seen++
		}
	}
	if seen < 40 {
		t.Errorf("the leak was reported in %d of 60 samples", seen)
	}
}
