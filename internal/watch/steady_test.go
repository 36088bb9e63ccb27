// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// steadyRuns returns runs without a leak, each with something that could be mistaken for one.
func steadyRuns() map[string]generated {
	runs := map[string]generated{}
	add := func(name string, g generated) {
		for seed := range uint64(3) {
			g.seed = seed
			if g.steps == 0 {
				g.steps = 1000
			}
			if g.stays == 0 {
				g.stays = 0.2
			}
			if g.takes == 0 {
				g.takes = 0.15
			}
			runs[fmt.Sprintf("%s/%d", name, seed)] = g
		}
	}
	for _, noise := range []float64{0.0005, 0.002, 0.01} {
		add(fmt.Sprintf("noise %g", noise), generated{noise: noise})
		add(fmt.Sprintf("slow noise %g", noise), generated{noise: noise, persists: 0.9})
		add(fmt.Sprintf("slower noise %g", noise), generated{noise: noise, persists: 0.97})
		add(fmt.Sprintf("ragged %g", noise), generated{noise: noise, lengths: drawn(250, 0.6), held: 0.03})
	}
	add("ragged, shapes hidden", generated{lengths: drawn(250, 0.6), held: 0.05, hidden: true})
	add("buckets", generated{lengths: bucketed(128, 256, 512, 1024), held: 0.04, noise: 0.001})
	add("curriculum", generated{lengths: curriculum(128, 1024, 500), held: 0.05, noise: 0.0005})
	add("fast curriculum", generated{lengths: curriculum(128, 1024, 60), held: 0.05, noise: 0.0005})
	add("curriculum, square", generated{lengths: curriculum(128, 1024, 500), held: 0.05, square: true, noise: 0.0005})
	add("curriculum in stages", generated{lengths: inStages(128, 1024, 8, 400), held: 0.06, noise: 0.0005})
	add("evaluations", generated{evalEach: 50, noise: 0.001})
	add("an evaluation that leaves something", generated{evalEach: 40, jumps: map[int]float64{41: 0.03}, noise: 0.0005})
	add("weights averaged from step 100 on", generated{jumps: map[int]float64{100: 0.1}, noise: 0.0005})
	return runs
}

func TestNoFalseLeak(t *testing.T) {
	runs := steadyRuns()
	if len(runs) < 50 {
		t.Fatalf("only %d runs", len(runs))
	}
	for name, g := range runs {
		t.Run(name, func(t *testing.T) {
			events, _ := g.events()
			if at := firstLeak(events); at != 0 {
				t.Errorf("a leak was seen at step %d", at)
			}
		})
	}
}

// TestTwoJumps adds two unequal permanent allocations, at all distances.
func TestTwoJumps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 100 {
		a, b := 10+r.IntN(150), 10+r.IntN(150)
		first := 0.01 + 0.1*r.Float64()
		g := generated{seed: uint64(i), steps: 600, stays: 0.2, takes: 0.1, noise: 0.0005, jumps: map[int]float64{a: first, b: first * (1.5 + r.Float64())}}
		if a == b {
			continue
		}
		events, _ := g.events()
		if at := firstLeak(events); at != 0 {
			t.Errorf("jumps at %d and %d: a leak was seen at step %d", a, b, at)
		}
	}
}

// TestUnequalJumps adds three permanent allocations of different sizes, at all distances.
func TestUnequalJumps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		g := generated{seed: uint64(i), steps: 700, stays: 0.2, takes: 0.1, noise: 0.0002, jumps: map[int]float64{}}
		size := 0.01 + 0.02*r.Float64()
		for _, by := range [][]float64{{1, 1.1, 1.3}, {1.2, 1, 1.4}, {1.3, 1.2, 1}}[i%3] {
			g.jumps[20+r.IntN(380)] = by * size
		}
		events, _ := g.events()
		if at := firstLeak(events); at != 0 {
			t.Errorf("jumps %v: a leak was seen at step %d", g.jumps, at)
		}
	}
}

// TestEqualJumps adds equal permanent allocations at equal distances, such as layers that are unfrozen one after the other: they are a
// leak until the next one is overdue.
func TestEqualJumps(t *testing.T) {
	for _, each := range []int{15, 20, 40} {
		g := generated{steps: 400, stays: 0.2, takes: 0.1, noise: 0.0002, jumps: map[int]float64{}}
		for n := range 3 {
			g.jumps[50+n*each] = 0.03
		}
		events, _ := g.events()
		w := New(Options{})
		last := 0
		for _, e := range events {
			if r, _ := w.Add(e); r.State == Leaking {
				last = r.Step
			}
		}
		if overdue := 50 + 2*each + each*5/4; last == 0 || last > overdue+2*each {
			t.Errorf("every %d steps: a leak was reported until step %d, but no jump came after step %d", each, last, 50+2*each)
		}
	}
}

// TestFullBuffer grows memory evenly until a buffer is full, by less than what counts before that.
func TestFullBuffer(t *testing.T) {
	for _, steps := range []int{60, 100, 200} {
		g := generated{steps: 800, stays: 0.2, takes: 0.1, leak: func(step, _ int) float64 {
			if step > steps {
				return 0
			}
			return 0.0035 / float64(steps)
		}}
		events, _ := g.events()
		if at := firstLeak(events); at != 0 {
			t.Errorf("full after %d steps: a leak was seen at step %d", steps, at)
		}
	}
}

func firstLeak(events []Event) int {
	w := New(Options{})
	for _, e := range events {
		if r, _ := w.Add(e); r.State == Leaking {
			return r.Step
		}
	}
	return 0
}
