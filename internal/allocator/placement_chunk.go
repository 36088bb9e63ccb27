// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"slices"

	"snug/internal/units"
)

// chunkUnit is what the driver reserves addresses in: every chunk begins and
// ends on a multiple of it.
const chunkUnit = 32 * units.MiB

// span is the addresses from lo up to, not including, hi.
type span struct{ lo, hi uint64 }

func (s span) bytes() uint64 { return s.hi - s.lo }

// chunk is one reservation of addresses and what is free in it. Holes never
// cross from one chunk into the next, even where the two touch.
type chunk struct {
	span
	holes []span // by address, never touching
	room  uint64 // the largest hole, so that a full chunk is passed over at a glance
}

// take cuts bytes from the low end of the first hole that is large enough.
// The caller has looked at room.
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

// put gives a range back to the chunk.
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

// empty says that nothing in the chunk is in use.
func (c *chunk) empty() bool { return c.room == c.bytes() }

// insertSpan adds s to spans, which are in order of address, and joins it with
// the neighbours it touches.
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

// addresses is the part of the process's address space that the driver draws
// on: the chunks it has, and where it gets the next one.
type addresses struct {
	chunks []chunk  // oldest first
	most   []uint64 // the most room in each chunk and those before it
	gaps   []span   // ranges that came back, by address
	floor  uint64   // everything below is unused
	spare  []span   // where new chunks get their list of holes from
	undo   undo
}

// place finds addresses for bytes: in the newest chunk with a large enough
// hole, or in a new chunk.
func (a *addresses) place(bytes uint64) uint64 {
	for i := len(a.chunks) - 1; i >= 0 && a.most[i] >= bytes; i-- {
		if c := &a.chunks[i]; c.room >= bytes {
			a.changes(i)
			addr := c.take(bytes)
			a.remeasure(i)
			return addr
		}
	}
	a.grows()
	lo := a.reserve(roundUp(bytes, chunkUnit))
	a.add(span{lo, lo + roundUp(bytes, chunkUnit)}, lo+bytes)
	return lo
}

// add notes a new chunk that is free from the given address on.
func (a *addresses) add(s span, from uint64) {
	const holes = 4 // more than most chunks ever have at a time
	if len(a.spare) < holes {
		a.spare = make([]span, 64*holes)
	}
	c := chunk{span: s, holes: a.spare[:0:holes]}
	a.spare = a.spare[holes:]
	if from < s.hi {
		c.put(span{from, s.hi})
	}
	a.chunks = append(a.chunks, c)
	a.remeasure(len(a.chunks) - 1)
}

// remeasure finds the most room anew, from a chunk on that has changed.
func (a *addresses) remeasure(from int) {
	a.most = a.most[:min(from, len(a.most))]
	before := uint64(0)
	if from > 0 {
		before = a.most[from-1]
	}
	for i := from; i < len(a.chunks); i++ {
		before = max(before, a.chunks[i].room)
		a.most = append(a.most, before)
	}
}

// reserve is the kernel's mmap: the top of the highest gap that is large
// enough, and failing that the next addresses down.
func (a *addresses) reserve(bytes uint64) uint64 {
	for i := len(a.gaps) - 1; i >= 0; i-- {
		g := &a.gaps[i]
		if g.bytes() < bytes {
			continue
		}
		g.hi -= bytes
		lo := g.hi
		if g.bytes() == 0 {
			a.gaps = slices.Delete(a.gaps, i, i+1)
		}
		return lo
	}
	a.floor -= bytes
	return a.floor
}

// release makes s free again, and gives its chunk back when nothing else is in it.
func (a *addresses) release(s span) {
	for i := len(a.chunks) - 1; i >= 0; i-- {
		c := &a.chunks[i]
		if s.lo < c.lo || s.lo >= c.hi {
			continue
		}
		c.put(s)
		if c.empty() {
			a.gaps = insertSpan(a.gaps, c.span)
			a.chunks = slices.Delete(a.chunks, i, i+1)
		}
		a.remeasure(i)
		return
	}
}
