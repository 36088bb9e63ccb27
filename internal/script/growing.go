// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/stream"

// A loop that keeps more with every update, as with a buffer of earlier results, is followed further than others, until
// that stops.

const (
	growingIterations = 64      // iterations of a loop that keeps growing
	leastGrowth       = 1 << 18 // bytes per iteration
)

// grower counts the bytes that are held at the start of each iteration of a loop.
type grower struct {
	trace *stream.Trace
	sizes map[uint32]int64 // of the allocations since the loop began
	from  int              // number of events counted so far
	held  int64            // bytes since the loop began
	grew  int              // number of iterations in a row that kept more
}

func newGrower(t *stream.Trace) *grower {
	return &grower{trace: t, sizes: map[uint32]int64{}, from: len(t.Events)}
}

// next counts an iteration.
func (g *grower) next() {
	before := g.held
	for _, e := range g.trace.Events[min(g.from, len(g.trace.Events)):] {
		switch e.Kind {
		case stream.Alloc:
			g.sizes[e.ID] = int64(e.Size)
			g.held += int64(e.Size)
		case stream.Free, stream.FreeRequested:
			g.held -= g.sizes[e.ID] // nothing if it is older than the loop
			delete(g.sizes, e.ID)
		}
	}
	g.from = len(g.trace.Events)
	if g.grew++; g.held-before < leastGrowth {
		g.grew = 0
	}
}

// grows reports whether the loop must be followed further at iteration i: the last two kept more. The first ones also make
// gradients and an optimizer's states.
func (g *grower) grows(i int) bool { return g.grew >= 2 && i < growingIterations }
