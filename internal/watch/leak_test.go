// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"math"
	"testing"
)

// leaks returns runs that end out of memory. Each leak must be recognized within the given number of steps.
func leaks() map[string]struct {
	generated
	begins, within int
} {
	type leak = struct {
		generated
		begins, within int
	}
	out := map[string]leak{}
	add := func(name string, within, begins int, g generated) {
		for seed := range uint64(3) {
			g.seed, g.steps, g.stays, g.takes = seed, 4000, 0.1, 0.15
			out[fmt.Sprintf("%s/%d", name, seed)] = leak{g, begins, within}
		}
	}
	for _, rate := range []float64{0.0005, 0.001, 0.004} {
		add(fmt.Sprintf("%g a step", rate), 40, 0, generated{leak: everyStep(rate), noise: 0.0002})
		add(fmt.Sprintf("%g a step, noise", rate), 60, 0, generated{leak: everyStep(rate), noise: 0.002})
		add(fmt.Sprintf("%g a step, ragged", rate), 60, 0, generated{leak: everyStep(rate), lengths: drawn(250, 0.5), held: 0.01, noise: 0.0005})
		add(fmt.Sprintf("%g a step, as long as the batch", rate), 70, 0, generated{leak: byLength(2 * rate), lengths: drawn(250, 0.5), noise: 0.0005})
		add(fmt.Sprintf("%g a step, from step 400 on", rate), 60, 400, generated{leak: from(400, everyStep(rate)), noise: 0.0005})
		add(fmt.Sprintf("%g a step, evaluations", rate), 60, 0, generated{leak: everyStep(rate), evalEach: 25, noise: 0.0005})
	}
	add("0.005 % a step", 600, 0, generated{leak: everyStep(0.00005), noise: 0.0005})
	add("weights every 20 steps", 60, 0, generated{leak: everyNth(20, 0.03), noise: 0.0002})
	add("weights every 20 steps, ragged", 100, 0, generated{leak: everyNth(20, 0.03), lengths: drawn(250, 0.3), held: 0.004, noise: 0.0002})
	add("weights every 10 steps", 60, 0, generated{leak: everyNth(10, 0.02), noise: 0.0005})
	add("outputs of each evaluation", 160, 0, generated{leak: everyNth(50, 0.02), evalEach: 50, noise: 0.0005})
	return out
}

func TestLeaksAreSeen(t *testing.T) {
	for name, g := range leaks() {
		t.Run(name, func(t *testing.T) {
			events, oom := g.events()
			checkLeak(t, events, g.begins, g.within, oom)
		})
	}
}

// checkLeak checks that a leak is detected in time, that the state stays, and that, from half-way on, the forecast is
// within 20 % of the step at which memory runs out.
func checkLeak(t *testing.T, events []Event, begins, within, oom int) {
	t.Helper()
	w := New(Options{})
	seen, lost := 0, 0
	for _, e := range events {
		r, _ := w.Add(e)
		if e.Kind != KindStep {
			continue
		}
		switch {
		case r.State == Leaking && r.Step < begins:
			t.Fatalf("a leak was seen at step %d, before it began", r.Step)
		case r.State == Leaking && seen == 0:
			seen = r.Step
		case r.State != Leaking && r.State != OutOfMemory && seen > 0:
			lost++
		}
		if oom > 0 && seen > 0 && r.Step > begins+(oom-begins)/2 && r.StepsToOOM != nil {
			if at := r.Step + r.StepsToOOM[1]; math.Abs(float64(at-oom)) > 0.2*float64(oom) {
				t.Fatalf("at step %d: memory was forecast to run out at step %d; it ran out at %d", r.Step, at, oom)
			}
		}
	}
	if seen == 0 || seen > begins+within {
		t.Errorf("the leak was seen at step %d (0: never), want by %d", seen, begins+within)
	}
	if lost > 0 {
		t.Errorf("the leak was not reported in %d steps", lost)
	}
}

// TestGeneratedIntervals checks that 95 % of the intervals of all generated leaks contain the step at which memory ran out.
// A run with ragged lengths may end with the longest batch so far, which no forecast can predict.
func TestGeneratedIntervals(t *testing.T) {
	all, missed := 0, 0
	for _, g := range leaks() {
		events, oom := g.events()
		if oom == 0 {
			continue
		}
		n, m := intervals(events, oom, func(Reading) {})
		all, missed = all+n, missed+m
	}
	if float64(missed) > 0.05*float64(all) || all == 0 {
		t.Errorf("%d of %d intervals miss", missed, all)
	}
}
