// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"slices"

	"snug/internal/stream"
)

// copies skips repeated stretches of a trace. A stretch that finds the same blocks in the same places as
// the first time does the same again and leaves the same state.
type copies struct {
	a      *Allocator
	all    []stream.Copy
	points []int         // the events that a stretch or its copy begins with, in order
	states map[int]state // how it was there
}

// state is a hash of everything that decides what the allocator does next. Retries are not part of it,
// but a stretch with retries is not skipped.
type state struct{ blocks, retries uint64 }

// newCopies finds the stretches of a trace that may be skipped: none if anything but blocks and places
// matters.
func (a *Allocator) newCopies(t *stream.Trace) copies {
	c := copies{a: a, states: map[int]state{}}
	if a.rules.tieByCreation || a.limited && a.opt.GCThreshold > 0 {
		return c
	}
	for _, s := range t.Copies {
		if s.From+2*s.N <= len(t.Events) {
			c.all = append(c.all, s)
			c.points = append(c.points, s.From, s.From+s.N)
		}
	}
	slices.Sort(c.points)
	c.points = slices.Compact(c.points)
	return c
}

// point is the next event at which to look, or -1.
func (c *copies) point() int {
	if len(c.points) == 0 {
		return -1
	}
	return c.points[0]
}

// pass is the event to go on with where i, the point, is the next one.
func (c *copies) pass(i int) int {
	now := c.a.state()
	c.states[i] = now
	c.points = c.points[1:]
	for _, s := range c.all {
		if was, seen := c.states[s.From]; s.From+s.N == i && seen && was == now {
			i += s.N
			break
		}
	}
	for len(c.points) > 0 && c.points[0] < i {
		c.points = c.points[1:]
	}
	return i
}

// state hashes all blocks. The hash does not depend on their order.
func (a *Allocator) state() state {
	s := state{retries: a.stats.plain.AllocRetries, blocks: a.total}
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.size == 0 {
			continue
		}
		h := scatter(b.addr)
		h = scatter(h ^ b.size)
		h = scatter(h ^ uint64(b.flags)<<48 ^ uint64(b.waits)<<32 ^ uint64(b.pool)<<16 ^ uint64(b.stream))
		s.blocks += h
	}
	return s
}

// scatter spreads the bits of x over all of the result.
func scatter(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
