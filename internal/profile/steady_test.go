// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"

	"snug/internal/stream"
)

// threeSteps returns a run whose first step keeps an allocation and whose other steps are equal, except for the order
// of two frees.
func threeSteps(unit uint64, alike bool) *stream.Trace {
	t := stream.New(64)
	last := t.Alloc(7*unit, 0)
	for step := range 3 {
		if step == 0 {
			t.Alloc(5000, 0)
		}
		x := t.Alloc(3*unit, 0)
		t.Free(last)
		y := t.Alloc(2*unit, 0)
		if step == 2 && !alike {
			t.Free(t.Alloc(unit, 0))
		}
		last = t.Alloc(7*unit, 0)
		if step == 1 {
			x, y = y, x
		}
		t.Free(x)
		t.Free(y)
	}
	return t
}

func TestStepsGoOn(t *testing.T) {
	p := fitted(t, at(2, threeSteps(2<<20, true)), at(3, threeSteps(3<<20, true)))
	run, err := p.Run(Point{"batch": 5})
	if err != nil {
		t.Fatal(err)
	}
	recorded := threeSteps(5<<20, true).Events
	const step = 6
	if got, want := len(run.Trace.Events), len(recorded)+moreSteps*step; got != want {
		t.Fatalf("%d events, want %d", got, want)
	}
	for i := range recorded {
		if run.Trace.Events[i] != recorded[i] {
			t.Errorf("event %d is %v, want %v", i, run.Trace.Events[i], recorded[i])
		}
	}
	alive := map[uint32]bool{}
	for i, e := range run.Trace.Events {
		if e.Kind == stream.Free && !alive[e.ID] {
			t.Errorf("event %d frees %d, which is not alive", i, e.ID)
		}
		alive[e.ID] = e.Kind == stream.Alloc
	}
}

func TestStepsThatDifferEndThere(t *testing.T) {
	p := fitted(t, at(2, threeSteps(2<<20, false)), at(3, threeSteps(3<<20, false)))
	run, err := p.Run(Point{"batch": 5})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(run.Trace.Events), len(threeSteps(1, false).Events); got != want {
		t.Errorf("%d events, want %d", got, want)
	}
}

// TestWhatGrowsIsNotContinued checks that a run that keeps more and more memory is not extended.
func TestWhatGrowsIsNotContinued(t *testing.T) {
	kept := func(unit uint64) *stream.Trace {
		tr := stream.New(64)
		for range 100 {
			tr.Alloc(11*unit, 0)
		}
		return tr
	}
	p := fitted(t, at(2, kept(2<<20)), at(3, kept(3<<20)))
	run, err := p.Run(Point{"batch": 5})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(run.Trace.Events); got != 100 {
		t.Errorf("%d events, want 100", got)
	}
}

// TestStacksThatShareNothing checks that stacks without anything in common, as in another version of a program, are
// detected.
func TestStacksThatShareNothing(t *testing.T) {
	a, b := []lifetime{{size: 1, stack: 3}, {size: 2, stack: 5}}, []lifetime{{size: 1, stack: 7}, {size: 2, stack: 5}, {size: 2, stack: 9}}
	if shareStacks(a, b) {
		t.Error("one common stack in three counts as shared")
	}
	if !shareStacks(a, a) || !shareStacks(withoutStacks(a), withoutStacks(b)) {
		t.Error("equal stacks, or no stacks, do not count as shared")
	}
}
