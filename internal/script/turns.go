// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/pysrc"

// Only a few iterations of a loop are followed, since what a step leaves behind settles after a few.
const (
	enoughUpdates = 3   // optimizer updates after which a loop has shown what it keeps
	enoughTurns   = 6   // iterations of a loop over data with updates
	unseenTurns   = 4   // iterations of a loop over data of unknown size without updates
	maxTurns      = 200 // iterations of a loop over data without updates
	maxRange      = 20_000
)

// fors runs a for loop. As in Python, it holds its iterable, and its names keep their last values.
func (in *interpreter) fors(s *pysrc.For) signal {
	over := in.eval1(s.Iter)
	it := in.iterate(over)
	if it == nil {
		it = in.unknownItems()
	}
	drop(over)
	defer drop(it)
	before, last := in.result.Updates, false
	for i := 0; ; i++ {
		if !last && in.enough(it, i, in.result.Updates-before) {
			if it.skip == nil || !it.skip() {
				return goOn
			}
			last = true // the last batch, and those fetched before it, are still to come
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

// enough reports whether iteration i and those after it can be skipped, after this many updates in the loop.
func (in *interpreter) enough(it *iterator, i, updates int) bool {
	if n := len(in.Lengths); n > 0 && updates > 0 {
		if it.whole { // a trainer fetches one batch ahead
			return in.fetched > n
		}
		return in.fetched >= n
	}
	switch {
	case it.whole:
		return false
	case in.Whole && it.size >= 0:
		return i >= maxRange
	case !it.data:
		return updates >= 2*enoughUpdates && i >= 2 || updates >= enoughUpdates && i >= enoughTurns || i >= maxRange
	case updates > 0:
		return updates >= enoughUpdates && i >= enoughTurns
	case it.size >= 0:
		return i >= maxTurns
	}
	return i >= unseenTurns+2*max(in.Accumulation, 1)
}

func (in *interpreter) whiles(s *pysrc.While) signal {
	before := in.result.Updates
	for i := 0; ; i++ {
		test := in.eval1(s.Test)
		yes, known := truth(test)
		drop(test)
		if known && !yes {
			return in.block(s.Else)
		}
		updates := in.result.Updates - before
		generates := in.scope().yield != nil // the loop it feeds is cut short, if any
		if !generates && !in.Whole && updates >= 2*enoughUpdates && i >= 2 || updates == 0 && i >= maxTurns || !known && i >= 1 {
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
