// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// This file selects the steps of a trainer's run to follow, because a long run repeats itself.

// Limits on the steps of a trainer's run.
const (
	wholeRun     = 12 // runs of up to this many updates are followed completely
	firstUpdates = 4  // updates followed at the start of a longer run
	fewEpochs    = 3
	fewMicro     = 4    // micro-batches simulated per update: the first few and the last
	maxEvaluated = 2000 // batches of an evaluation that keeps its predictions
)

func registerSteps() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"few_epochs":    epochs,
		"evaluated":     evaluated,
		"repeats":       countRepeated,
		"enumerate_all": enumerateAll,
		"shapes_of":     shapesOf,
		"few_updates":   updateSteps,
		"go_on_to":      goOnTo,
		"seek":          seeks,
		"take":          takes,
		"length":        lengthOrNone,
		"steps_of":      stepsOf,
	} {
		natives["snug."+name] = f
	}
}

// whole returns an iterator that loops follow to the end.
func whole(ns []int) *iterator {
	i := 0
	return &iterator{size: len(ns), whole: true, next: func() (value, bool) {
		if i >= len(ns) {
			return nil, false
		}
		i++
		return ns[i-1], true
	}}
}

// epochs returns the first epochs and the last.
func epochs(in *interpreter, a arguments) value {
	n, _ := a.or(0, "", 1).(int)
	few := fewEpochs
	if in.Whole {
		few = maxIterations
	}
	out := upTo(min(n, few))
	if n > few {
		out = append(out, n-1)
	}
	return whole(out)
}

// updateSteps selects the updates of an epoch to follow: the first ones, the last, and those at which something
// happens, with their neighbors.
func updateSteps(in *interpreter, a arguments) value {
	n, _ := a.or(0, "", 1).(int)
	before, _ := a.or(1, "", 0).(int)
	periods, last := in.periods(a.or(2, "state", nil), a.or(3, "args", nil))
	if in.Whole || len(in.Lengths) > 0 {
		return whole(upTo(min(n, maxRange)))
	}
	ns := chosen(n, before, periods, last)
	if n <= wholeRun {
		ns = upTo(n)
	}
	return in.withinLimit(whole(ns), n, before, periods)
}

// withinLimit skips updates of a run that would exceed the world's event limit. Only the first two updates are
// simulated, and those at which something periodic happens: the first two show what the run keeps in memory.
func (in *interpreter) withinLimit(it *iterator, n, before int, periods []int) *iterator {
	next, needed := it.next, map[int]bool{}
	for _, p := range periods {
		needed[p-1-before], needed[p-before] = true, true
	}
	it.next = func() (value, bool) {
		for {
			v, ok := next()
			at, _ := v.(int)
			if !ok || !in.isLong(min(n, wholeRun)) || before+at < 2 || needed[at] {
				return v, ok
			}
		}
	}
	return it
}

// isLong reports whether this many updates, each with a few micro-batches like the first, would exceed half of the events
// that the world allows. The other half is for everything else that a trainer does.
func (in *interpreter) isLong(updates int) bool {
	return in.World.MaxEvents > 0 && in.microEvents*updates*fewMicro > in.World.MaxEvents/2
}

// chosen returns the updates of a long epoch that are followed.
func chosen(n, before int, periods []int, last int) []int {
	out := append(upTo(firstUpdates-before), 0, 1, n-1, last-1-before)
	for _, p := range periods {
		for _, at := range []int{p, 2 * p} {
			out = append(out, at-1-before, at-before, at+1-before)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(i int) bool { return i < 0 || i >= n })
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

// countRepeated implements snug.repeats(i, n), which reports whether micro-batch i of n repeats the one before it. If so,
// its backward pass is counted here.
func countRepeated(in *interpreter, a arguments) value {
	i, _ := a.or(0, "i", 0).(int)
	n, _ := a.or(1, "n", 1).(int)
	switch events := len(in.World.Trace.Events); {
	case in.microEvents > 0:
	case i == 0:
		in.microBegin = events
	case i == 1:
		in.microEvents = events - in.microBegin
	}
	few := fewMicro - 1
	if in.isLong(firstUpdates) {
		few = 1 // from the second micro-batch on, all add to existing gradients
	}
	if i < few || i >= n-1 || in.Whole || len(in.Lengths) > 0 {
		return false
	}
	in.result.Backwards++
	return true
}

// periods returns the intervals, in steps, at which a trainer logs, evaluates and so on; last is its last step.
func (in *interpreter) periods(state, args value) (out []int, last int) {
	read := func(of value, name string) int {
		v := in.getattr(of, name)
		defer drop(v)
		n, _ := v.(int)
		return n
	}
	for _, k := range []string{"logging", "eval", "save"} {
		v := in.getattr(args, k+"_strategy")
		if v == "steps" {
			out = append(out, read(state, k+"_steps"))
		}
		drop(v)
	}
	out = append(out, read(args, "torch_empty_cache_steps"))
	return out, read(state, "max_steps")
}

// goOnTo advances a loader's iterator until the given number of batches remains.
func goOnTo(in *interpreter, a arguments) value {
	left, _ := a.or(2, "", 0).(int)
	if o, ok := a.or(0, "", nil).(*instance); ok {
		o.attrs.set("left", left)
		return nil
	}
	if it, ok := a.or(1, "", nil).(*iterator); ok && it.seek != nil {
		it.seek(left)
	}
	return nil
}

// seeks advances an iterator until the given number of batches remains, and returns the first of them.
func seeks(_ *interpreter, a arguments) value {
	it, ok := a.or(0, "", nil).(*iterator)
	if !ok {
		return nil
	}
	if left, ok := a.or(1, "", nil).(int); ok && it.seek != nil {
		it.seek(left)
	}
	v, _ := it.next()
	return v
}

// takes appends the next value of an iterator to a list, or returns false at its end.
func takes(in *interpreter, a arguments) value {
	l, ok := a.or(1, "", nil).(*list)
	if !ok {
		return false
	}
	it, ok := a.or(0, "", nil).(*iterator)
	if !ok {
		l.items = append(l.items, in.mystery(in.Batch))
		return true
	}
	v, more := it.next()
	if more {
		l.items = append(l.items, v)
	}
	return more
}

func lengthOrNone(in *interpreter, a arguments) value {
	if n, ok := length(in, a).(int); ok {
		return n
	}
	return nil
}

// stepsOf returns a number of steps, which may be given as a fraction of all steps.
func stepsOf(_ *interpreter, a arguments) value {
	x, ok := number(a.or(0, "", nil))
	if !ok {
		return nil
	}
	if all, isInt := a.or(1, "", nil).(int); x < 1 && isInt {
		return ceiling(nil, arguments{pos: []value{x * float64(all)}})
	}
	return int(x)
}

// evaluated returns the number of batches of an evaluation, or None if unknown.
func evaluated(in *interpreter, a arguments) value {
	n, known := length(in, a).(int)
	keeps, _ := a.or(1, "", false).(bool)
	switch {
	case !known && keeps:
		in.note("the number of evaluation batches is not known; the run needs more memory than shown if it keeps predictions of more than %d", unseenIterations)
	case known && n > maxEvaluated && keeps:
		in.note("predictions of %d batches are kept, but only %d are counted; the run needs more memory than shown", n, maxEvaluated)
	}
	if !known || in.Whole {
		return nil
	}
	return n
}

// enumerateAll implements enumerate(loader). Loops over it are followed to the end, if there is one.
func enumerateAll(in *interpreter, a arguments) value {
	it := enumerated(in, a).(*iterator)
	it.whole = it.size >= 0 && it.size <= maxEvaluated
	return it
}

// shapesOf returns a value with its tensors on the card replaced with host tensors.
func shapesOf(in *interpreter, a arguments) value {
	return in.eachTensor(a.or(0, "", nil), func(t value) value {
		if c, ok := t.(*shadow.Tensor); ok {
			return &hostTensor{size: sizeOf(c), dtype: c.DType()}
		}
		return t
	})
}
