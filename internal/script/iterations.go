// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/pysrc"

// Only a few iterations of a loop are followed, because the memory that a step leaves behind settles after a few.
const (
	enoughUpdates    = 3   // optimizer updates after which it is clear what a loop keeps
	enoughIterations = 6   // iterations of a loop over data with updates
	unseenIterations = 4   // iterations of a loop over data of unknown size without updates
	fewItems         = 16  // lists of up to this many items are followed completely, because each item may change the run
	maxIterations    = 200 // iterations of a loop over data without updates
	maxRange         = 20_000
)

// fors runs a for loop. As in Python, it holds its iterable, and its variables keep their last values.
func (in *interpreter) fors(s *pysrc.For) signal {
	over := in.eval1(s.Iter)
	it := in.iterate(over)
	if it == nil {
		it = in.unknownItems()
	}
	drop(over)
	defer drop(it)
	steps, fetched, last := in.newSteps(), in.fetched, false
	defer steps.end(in)
	held := grower{held: in.World.Growth()}
	for i := 0; ; i++ {
		steps.next(in)
		if held.next(); !last && (it.size < 0 || it.size > growingIterations || !held.grows(i)) && in.enough(it, i, steps, fetched) {
			if it.skip == nil || !it.skip() {
				return goOn
			}
			last = true // the last batch, and any prefetched before it, are still to come
		}
		v, ok := it.next()
		if !ok {
			return in.block(s.Else)
		}
		in.store(s.Target, v)
		switch sig := in.block(s.Body); sig {
		case breaks:
			return goOn
		case returns, raises:
			return sig
		}
	}
}

// played reports whether a loop that has received the given number of batches has used every batch length. A loader
// that prefetches has fetched one more batch.
func (in *interpreter) played(it *iterator, given int) bool {
	n := len(in.Lengths)
	ahead := it.whole || it.data && given < n
	return in.fetched > n || in.fetched == n && !ahead
}

// stepCount counts the updates of a loop.
type stepCount struct {
	before, updates int // before the loop, and in it
	first, inner    int // updates in ended loops: before the loop, and now
	with            int // iterations with an update outside those
}

func (in *interpreter) newSteps() *stepCount {
	return &stepCount{before: in.result.Updates, first: in.inLoops, inner: in.inLoops}
}

// next counts the updates of the iteration that has ended.
func (s *stepCount) next(in *interpreter) {
	now, inner := in.result.Updates-s.before, in.inLoops
	if now-s.updates > inner-s.inner {
		s.with++
	}
	s.updates, s.inner = now, inner
}

// end counts the loop's updates for the loop around it.
func (s *stepCount) end(in *interpreter) {
	in.inLoops = s.first + in.result.Updates - s.before
}

// repeats reports whether the loop has updated often enough: in a few iterations if it updates in each, however many
// optimizers it has, or in two if it contains the loop that updates.
func (s *stepCount) repeats(i int) bool {
	if s.with > 0 {
		return s.with >= enoughUpdates && i >= enoughIterations
	}
	return s.updates >= 2*enoughUpdates && i >= 2 || s.updates >= enoughUpdates && i >= enoughIterations
}

// enough reports whether a loop can stop before iteration i, given its updates so far and the number of batches
// fetched before the loop.
func (in *interpreter) enough(it *iterator, i int, steps *stepCount, fetched int) bool {
	updates := steps.updates
	if len(in.Lengths) > 0 && updates > 0 {
		return in.played(it, fetched+i)
	}
	switch {
	case in.scope().yield != nil && it.size >= 0: // of a generator, the loop that consumes its values is shortened instead
		return i >= maxRange
	case it.whole, it.few:
		return false
	case in.Whole && it.size >= 0:
		return i >= maxRange
	case !it.data && it.size < 0 && updates == 0 && in.result.Backwards > 0:
		return i >= in.unseen()
	case !it.data:
		return steps.repeats(i) || i >= maxRange
	case updates > 0:
		return steps.repeats(i) && i >= enoughIterations
	case it.size >= 0:
		return i >= maxIterations
	}
	return i >= in.unseen()
}

// unseen returns how many iterations of a loop of unknown length are followed if they make no updates.
func (in *interpreter) unseen() int { return unseenIterations + 2*max(in.Accumulation, 1) }

func (in *interpreter) whiles(s *pysrc.While) signal {
	steps, assumed, statements := in.newSteps(), in.assumed, in.statements
	defer steps.end(in)
	for i := 0; ; i++ {
		steps.next(in)
		limit := maxIterations
		waited := in.statements - statements
		ends := in.assumed == assumed && waited < maxStatements/2                   // it ends as in Python
		if fills := waited < maxStatements/4; !literal(s.Test) && (ends || fills) { // a replay buffer may be filled before the first update
			limit = maxRange
		}
		test := in.eval1(s.Test)
		yes, known := truth(test)
		drop(test)
		if known && !yes {
			return in.block(s.Else)
		}
		updates := steps.updates
		generates := in.scope().yield != nil // for a generator, the loop that consumes its values is shortened instead
		if !generates && !in.Whole && updates >= 2*enoughUpdates && steps.repeats(i) || updates == 0 && i >= limit || !known && i >= 1 {
			return goOn
		}
		switch sig := in.block(s.Body); sig {
		case breaks:
			return goOn
		case returns, raises:
			return sig
		}
	}
}

// literal reports whether a loop's condition is a literal, as in while True.
func literal(test pysrc.Expr) bool {
	switch test.(type) {
	case *pysrc.Const, *pysrc.Number:
		return true
	}
	return false
}
