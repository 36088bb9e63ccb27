// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// A short loop that keeps more with every update, as with a buffer of earlier results, is followed further than others, until
// that stops.

const (
	growingIterations = 64      // iterations of the longest such loop
	leastGrowth       = 1 << 18 // bytes per iteration
)

// grower counts the iterations in a row that kept more than the one before.
type grower struct {
	held *shadow.Growth
	grew int
}

// next counts an iteration.
func (g *grower) next() {
	if g.grew++; g.held.Next() < leastGrowth {
		g.grew = 0
	}
}

// grows reports whether the loop must be followed further at iteration i: the last two kept more. The first ones also make
// gradients and an optimizer's states.
func (g *grower) grows(i int) bool { return g.grew >= 2 && i < growingIterations }
