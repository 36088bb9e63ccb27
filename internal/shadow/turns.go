// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"iter"

	"snug/internal/stream"
)

// A loop over a thousand tokens does the same in each turn, so that a few of them
// are enough: the first ones, the last ones, and one in the middle that stands
// for the rest. Every event says in which turn it came, going back too, and when
// the run is over package stream writes the turns that were left out.

// How many turns of a loop are run, and which of them stands for others. Some at
// both ends differ: the first has nothing before it, and in backward the last two
// find no gradient to add to.
const (
	turnsRun   = 9
	middleTurn = 5
	fewTurns   = 4 * turnsRun // loops up to here are run as they are
)

// turns is the folded loops of a run, which are all of one length.
type turns struct {
	now    uint8 // the turn under way, from 1; 0 is none
	length int   // of the loops
}

// Turns goes through the turns of a loop: 0 to n-1, or, where the world folds
// and n is large, some of them. What a loop collects has nil for the others.
func (w *World) Turns(n int) iter.Seq[int] {
	t := &w.turns
	fold := w.Folds && n > fewTurns && t.now == 0 && (t.length == 0 || t.length == n)
	if fold {
		t.length = n
	}
	return w.turnsOf(n, fold)
}

// turnsOf is Turns for a loop of which it is known whether it is folded.
func (w *World) turnsOf(n int, folded bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		outer := w.turns.now
		for i := 0; i < n; i++ {
			if folded {
				if i == middleTurn {
					i = n - (turnsRun - middleTurn)
				}
				w.enter(turnNumber(i, n))
			}
			if !yield(i) {
				break
			}
		}
		w.enter(outer)
	}
}

// turnNumber counts the turns that are run from 1.
func turnNumber(i, n int) uint8 {
	if i >= middleTurn {
		i -= n - turnsRun
	}
	return uint8(i + 1)
}

// enter makes a turn the one under way.
func (w *World) enter(turn uint8) {
	was := w.turns.now
	if was == turn {
		return
	}
	w.turns.now = turn
	if w.Meter == nil {
		return
	}
	switch {
	case turn == middleTurn:
		w.Meter.Times(w.turns.fold().Times)
	case was == middleTurn:
		w.Meter.Times(1)
	}
}

// inTurn says of the event that was written last in which turn it came.
func (w *World) inTurn(turn uint8) {
	if turn != 0 {
		w.Trace.Events[len(w.Trace.Events)-1].Turn = turn
	}
}

func (t turns) fold() stream.Fold {
	return stream.Fold{Middle: middleTurn, Times: t.length - turnsRun + 1}
}

// Unfold writes the turns that were left out of the trace, when the run is over.
// It is false where they cannot be known.
func (w *World) Unfold() bool {
	if w.turns.length == 0 {
		return true
	}
	whole, old, ok := w.Trace.Unfold(w.turns.fold())
	if ok {
		w.Trace, w.origin = whole, old
	}
	return ok
}

// Tag is what is known about an allocation of the trace.
func (w *World) Tag(id uint32) Tag {
	if w.origin != nil {
		id = w.origin[id]
	}
	return w.Tags[id]
}
