// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"iter"

	"snug/internal/stream"
)

// A loop over a thousand tokens does the same work in each iteration, so only a few are simulated: the first
// ones, the last ones, and one in the middle that stands for the rest. Every event records its iteration, in the
// backward pass too, and after the run package stream writes the missing iterations.

// The number of simulated iterations of a loop, and the iteration that represents the missing ones. Some iterations
// at both ends differ: the first has no predecessor, and in backward the last two find no gradient to add to.
const (
	simulatedIterations = 9
	middleIteration     = 5
	mostUnfolded        = 4 * simulatedIterations // loops up to this length are simulated in full
)

// folding describes the folded loops of a run, which all have the same length.
type folding struct {
	now    uint8 // the current iteration, from 1; 0 outside loops
	length int   // number of iterations of the loops
}

// Iterations yields the iterations of a loop: 0 to n-1, or, if the world folds and n is large, only some of
// them. A loop that collects tensors collects only those of the simulated iterations.
func (w *World) Iterations(n int) iter.Seq[int] {
	t := &w.folding
	fold := w.Folds && n > mostUnfolded && t.now == 0 && (t.length == 0 || t.length == n)
	if fold {
		t.length = n
	}
	return func(yield func(int) bool) {
		outer := t.now
		for i := 0; i < n; i++ {
			if fold {
				if i == middleIteration {
					i = n - (simulatedIterations - middleIteration)
				}
				w.enter(iterationNumber(i, n))
			} else if w.iterated++; w.MaxIterations > 0 && w.iterated > w.MaxIterations {
				panic(TooLong{})
			}
			if !yield(i) {
				break
			}
		}
		w.enter(outer)
	}
}

// collected reports whether a folded loop collected the list, with one tensor for each simulated iteration.
func (w *World) collected(ts []*Tensor) bool {
	if len(ts) != simulatedIterations || w.folding.length == 0 {
		return false
	}
	for i, t := range ts {
		if t.mem == nil || int(t.mem.iteration) != i+1 {
			return false
		}
	}
	return true
}

// each yields the indices of a list of n elements. For a list that a loop collected, each index is yielded within
// its iteration.
func (w *World) each(n int, collected bool) iter.Seq[int] {
	return func(yield func(i int) bool) {
		outer := w.folding.now
		for i := range n {
			if collected {
				w.enter(uint8(i + 1))
			}
			if !yield(i) {
				break
			}
		}
		w.enter(outer)
	}
}

// times returns how many elements element i of a list stands for.
func (w *World) times(i int, collected bool) int {
	if collected && i+1 == middleIteration {
		return w.folding.fold().Times
	}
	return 1
}

// iterationNumber returns the number of iteration i among the simulated ones, from 1.
func iterationNumber(i, n int) uint8 {
	if i >= middleIteration {
		i -= n - simulatedIterations
	}
	return uint8(i + 1)
}

// enter starts an iteration.
func (w *World) enter(iteration uint8) {
	was := w.folding.now
	if was == iteration {
		return
	}
	w.folding.now = iteration
	if w.Meter == nil {
		return
	}
	switch {
	case iteration == middleIteration:
		w.Meter.Times(w.folding.fold().Times)
	case was == middleIteration:
		w.Meter.Times(1)
	}
}

// inIteration records the iteration of the last event.
func (w *World) inIteration(iteration uint8) {
	if iteration != 0 {
		w.Trace.Events[len(w.Trace.Events)-1].Iteration = iteration
	}
}

func (t folding) fold() stream.Fold {
	return stream.Fold{Middle: middleIteration, Times: t.length - simulatedIterations + 1}
}

// Folded returns the trace of a finished run with its loops folded, or nil if it has no folded loops. It returns
// false if the missing iterations cannot be derived.
func (w *World) Folded() (*stream.Folded, bool) {
	if w.folding.length == 0 {
		return nil, true
	}
	return w.Trace.Folded(w.folding.fold())
}

// Unfold writes the missing iterations into the trace.
func (w *World) Unfold(f *stream.Folded) { w.Trace, w.origin = f.Unfold() }

// Tag returns the tag of an allocation in the trace.
func (w *World) Tag(id uint32) Tag {
	if w.origin != nil {
		id = w.origin[id]
	}
	return w.Tags[id]
}
