// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"slices"

	"snug/internal/units"
)

// chunkUnit is the unit of address reservations: every chunk begins and ends on a multiple of it.
const chunkUnit = 32 * units.MiB

// span is the addresses from lo up to but excluding hi.
type span struct{ lo, hi uint64 }

func (s span) bytes() uint64 { return s.hi - s.lo }

// chunk is one reservation of addresses, with its free ranges. Holes never extend from one chunk into the next, even
// if the two are adjacent.
type chunk struct {
	span
	holes []span // sorted by address, never adjacent
	room  uint64 // the largest hole, so that a full chunk is skipped quickly
}

// take cuts bytes from the low end of the first hole that is large enough. The caller has checked room.
func (c *chunk) take(bytes uint64) uint64 {
	i := slices.IndexFunc(c.holes, func(h span) bool { return h.bytes() >= bytes })
	addr := c.holes[i].lo
	c.holes[i].lo += bytes
	if c.holes[i].bytes() == 0 {
		c.holes = slices.Delete(c.holes, i, i+1)
	}
	c.measure()
	return addr
}

// put returns a range to the chunk.
func (c *chunk) put(s span) {
	c.holes = insertSpan(c.holes, s)
	c.measure()
}

func (c *chunk) measure() {
	c.room = 0
	for _, h := range c.holes {
		c.room = max(c.room, h.bytes())
	}
}

// empty reports whether nothing in the chunk is in use.
func (c *chunk) empty() bool { return c.room == c.bytes() }

// insertSpan adds s to spans, which are sorted by address, and joins it with adjacent spans.
func insertSpan(spans []span, s span) []span {
	i, _ := slices.BinarySearchFunc(spans, s.lo, func(h span, lo uint64) int {
		if h.lo < lo {
			return -1
		}
		return 1
	})
	if i < len(spans) && spans[i].lo == s.hi {
		s.hi = spans[i].hi
		spans = slices.Delete(spans, i, i+1)
	}
	if i > 0 && spans[i-1].hi == s.lo {
		spans[i-1].hi = s.hi
		return spans
	}
	return slices.Insert(spans, i, s)
}
