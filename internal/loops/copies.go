// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"slices"

	"snug/internal/stream"
)

// copies passes over stretches of a trace that come again. One that finds the
// same blocks in the same places as it did the first time does the same again and
// leaves them as it did then.
type copies struct {
	all    []stream.Copy
	points []int // the events that a stretch or its copy begins with, in order
	states map[int]state
}

// state is a hash of everything that decides what the allocator does next. Retries are not part of it,
// but a stretch with retries is not skipped.
type state struct{ segments, retries uint64 }

func newCopies(t *stream.Trace) copies {
	c := copies{states: map[int]state{}}
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
func (c *copies) pass(p *Player, i int) int {
	now := p.state()
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

// state sums up all segments, in whichever order.
func (p *Player) state() state {
	x := state{segments: p.held, retries: p.retries}
	for i := range p.segs {
		if s := &p.segs[i]; s.set != none {
			sum := p.sum(s)
			if s.void {
				sum = sumOf(freeMark(0), p.size(s))
			}
			x.segments += scatter(scatter(s.addr*31+uint64(s.set)) ^ sum)
		}
	}
	return x
}
