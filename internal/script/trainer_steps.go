// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// Which steps of a trainer's run are gone through: a long run repeats itself.

// Bounds on a trainer's run.
const (
	wholeRun     = 12 // updates of a run that is gone through as a whole
	firstUpdates = 4  // of a longer one
	fewEpochs    = 3
	maxEvaluated = 2000 // batches of an evaluation that keeps what it predicts
)

func registerSteps() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"few_epochs":  epochs,
		"evaluated":   evaluated,
		"repeats":     countRepeated,
		"turns":       turns,
		"shapes_of":   shapesOf,
		"few_updates": updateSteps,
		"go_on_to":    goOnTo,
		"seek":        seeks,
		"take":        takes,
		"length":      lengthOrNone,
		"steps_of":    stepsOf,
	} {
		natives["snug."+name] = f
	}
}

// whole is an iterator that a loop goes through to its end.
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

// epochs is the first epochs and the last.
func epochs(in *interpreter, a arguments) value {
	n, _ := a.or(0, "", 1).(int)
	few := fewEpochs
	if in.Whole {
		few = maxTurns
	}
	out := upTo(min(n, few))
	if n > few {
		out = append(out, n-1)
	}
	return whole(out)
}

// updateSteps is the updates of an epoch that has so many, after so many before it: the first ones, those at
// which something happens with their neighbours, and the last.
func updateSteps(in *interpreter, a arguments) value {
	n, _ := a.or(0, "", 1).(int)
	before, _ := a.or(1, "", 0).(int)
	periods, last := in.periods(a.or(2, "state", nil), a.or(3, "args", nil))
	if n <= wholeRun || in.Whole || len(in.Lengths) > 0 {
		return whole(upTo(min(n, maxRange)))
	}
	return whole(chosen(n, before, periods, last))
}

// chosen is those updates of a long epoch.
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

// upTo is the numbers from 0 that are less than n.
func upTo(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

// countRepeated reports whether the micro-batch under way is one like those before it, and counts its backward pass.
func countRepeated(in *interpreter, _ arguments) value {
	if in.Whole || len(in.Lengths) > 0 {
		return false
	}
	in.result.Backwards++
	return true
}

// periods is after how many steps a trainer logs, evaluates and so on; last is the number of its last step.
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

// goOnTo moves a loader's iterator so that so many batches are left.
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

// seeks moves an iterator so that so many batches are left, and is the first of them.
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

// takes appends the next value of an iterator to a list; false at its end.
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

// stepsOf is a number of steps, which may be given as a part of all.
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

// evaluated is how many batches an evaluation has, None where that is not known.
func evaluated(in *interpreter, a arguments) value {
	n, known := length(in, a).(int)
	keeps, _ := a.or(1, "", false).(bool)
	switch {
	case !known && keeps:
		in.note("how many batches are evaluated is not known; the run takes more than this where it keeps predictions of more than %d", unseenTurns)
	case known && n > maxEvaluated && keeps:
		in.note("predictions are kept of %d batches, of which %d are counted; the run takes more than this", n, maxEvaluated)
	}
	if !known || in.Whole {
		return nil
	}
	return n
}

// turns is enumerate(loader), gone through to its end where it has one.
func turns(in *interpreter, a arguments) value {
	it := enumerated(in, a).(*iterator)
	it.whole = it.size >= 0 && it.size <= maxEvaluated
	return it
}

// shapesOf is a value with tensors of the host in place of the card's.
func shapesOf(in *interpreter, a arguments) value {
	return in.eachTensor(a.or(0, "", nil), func(t value) value {
		if c, ok := t.(*shadow.Tensor); ok {
			return &hostTensor{size: sizeOf(c), dtype: c.DType()}
		}
		return t
	})
}
