// SPDX-License-Identifier: Apache-2.0

package loops

import "slices"

// A recording notes where everything is that its iterations make and leave behind: a row for each
// iteration, with a place for each allocation that the body names.

// cleared is n zero places, in the room of others if there is enough.
func cleared(old []place, n int) []place {
	old = slices.Grow(old[:0], n)[:n]
	clear(old)
	return old
}

// madeAt is where made has the place of a copy, -1 if another iteration made it.
func (c *recording) madeAt(x owner) int {
	turn := x.copy
	if c.body.loop.Down {
		turn = -turn
	}
	if turn < 0 || turn >= c.turns {
		return -1
	}
	return turn*len(c.body.owned) + int(x.slot)
}

// madeBy is the opposite.
func (c *recording) madeBy(k int) owner {
	slots := len(c.body.owned)
	x := owner{int32(k % slots), k / slots}
	if c.body.loop.Down {
		x.copy = -x.copy
	}
	return x
}
