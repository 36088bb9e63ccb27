// SPDX-License-Identifier: Apache-2.0

package loops

import "slices"

// A recording keeps the places of everything that its iterations allocate and leave behind: one row per
// iteration, with a place for each allocation of the body.

// cleared returns n zero places, reusing old if it is large enough.
func cleared(old []place, n int) []place {
	old = slices.Grow(old[:0], n)[:n]
	clear(old)
	return old
}

// madeAt returns the index of a copy in made, or -1 if these iterations did not make it.
func (c *recording) madeAt(x owner) int {
	iteration := x.copy
	if c.body.loop.Down {
		iteration = -iteration
	}
	if iteration < 0 || iteration >= c.iterations {
		return -1
	}
	return iteration*len(c.body.owned) + int(x.slot)
}

// madeBy returns the copy at an index in made.
func (c *recording) madeBy(k int) owner {
	slots := len(c.body.owned)
	x := owner{int32(k % slots), k / slots}
	if c.body.loop.Down {
		x.copy = -x.copy
	}
	return x
}
