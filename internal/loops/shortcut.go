// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"cmp"
	"slices"
)

// shortcut is what some iterations of a loop did, and the conditions under which the same number of
// iterations does the same again.
//
// It holds if each role has a segment with the layout of that time, no segment without a role has a hole
// that would have been chosen instead, segments whose addresses decided a tie are in the same order, and
// the allocations that the iterations free are at the same places.
type shortcut struct {
	turns, events int
	start, end    uint64 // hashes of the iteration before it, and of its last one
	roles         []role
	guards        []guard
	ties          []tie    // by their last role
	deeper        []deeper // which voids must be larger than others
	frees         []spread // the places of the blocks they free
	leaves        []spread // the places of the blocks they leave

	grows                uint64 // memory taken from the driver, in quanta
	lastGrowth           int    // the event of the last growth
	allocated, requested int64  // the change
	most, mostAsked      int64  // the most after any event
	mostAt               int    // the first event with the most

	then   *shortcut // the shortcut taken after it last time
	longer bool      // there is a shortcut for more of these iterations
}

// role is the part that a segment, or a piece of one, plays in a shortcut.
type role struct {
	how           way
	set           int32
	before, after int32  // its layouts; after is none if it no longer exists
	size          uint64 // draw: the request; grow: the size of the segment
	got           uint64 // draw: the hole's size
	at            uint64 // the block that was allocated or freed; born: the offset in the void
	owner         owner  // locate: owner of the block
	of            int32  // beside: the neighbour; born: the void after it
	side          int8   // beside: -1 before it, 1 after it
	left, right   int32  // its neighbours at the beginning: a role, none, or some other block

	void       bool  // it is a void, and has no layouts
	low, high  int64 // the range of its size
	moves      int64 // change of its address
	widens     int64 // change of its size
	prev, next int32 // its neighbours at the end: a role, none, or some other block
}

// somebody is a neighbour without a role, which does not change.
const somebody = -2

// way says how a segment becomes part of a shortcut.
type way uint8

const (
	draw   way = iota // its hole is the best fit for a request
	locate            // something in it is freed
	grow              // it is new
	beside            // it is next to another one
	born              // it was filled from a void
)

// guard is the worst hole that a request of a size accepted. No other segment may have a better one; got
// is larger than any hole if a new segment had to be made.
type guard struct {
	set       int32
	size, got uint64
	roles     []int32 // the roles of that hole
	voids     []deep  // the voids chosen as well
}

// tie is two roles with holes of equal size: the one with the lower address was chosen.
type tie struct{ low, high int32 }

// last returns the later role of the two.
func (t tie) last() int32 { return max(t.low, t.high) }

// deeper says that one void is larger than another by at least this much.
type deeper struct {
	than, role int32
	by         int64
}

// deep is a void, and by how much larger or smaller it was when chosen than at the
// beginning.
type deep struct {
	role  int32
	wider int64
}

// spread is a run of copies of an allocation in the segment of a role.
type spread struct {
	slot int32
	role int32
	run
}

// runsOf joins neighbouring copies into runs, the last ones first if down is set.
func runsOf(all []owned, down bool) (out []spread) {
	slices.SortFunc(all, func(x, y owned) int {
		copies := cmp.Compare(x.copy, y.copy)
		if down {
			copies = -copies
		}
		return cmp.Or(cmp.Compare(x.slot, y.slot), copies)
	})
	for _, x := range all {
		at := place{seg: x.role + 1, at: x.at}
		if n := len(out); n > 0 && out[n-1].slot == x.slot && out[n-1].extend(x.copy, at, down) {
			continue
		}
		out = append(out, spread{x.slot, x.role, runOf(x.copy, at)})
	}
	return out
}

// maxAlike limits the number of shortcuts that begin alike.
const maxAlike = 256

// add adds a shortcut to those that begin alike: longest first, and among equally long ones the
// newest.
func (c *class) add(s *shortcut) {
	all := c.shortcuts[s.start]
	i := slices.IndexFunc(all, func(x *shortcut) bool { return x.turns <= s.turns })
	if i < 0 {
		i = len(all)
	}
	all = slices.Insert(all, i, s)
	c.shortcuts[s.start] = all[:min(len(all), maxAlike)]
	for _, x := range all {
		x.then = nil
	}
}

// jump skips iterations with a shortcut, and returns how many. If a shortcut begins as these iterations
// did but does not hold, they are worth recording.
func (p *Player) jump(b *body, done int) int {
	w := &p.watch
	if w.rec != nil {
		return 0
	}
	if s := w.taken; s != nil && s.then != nil && !s.then.longer && p.suits(s.then, b, done) && p.try(s.then, b, done) {
		return p.jumped(s.then, b, done)
	}
	all := b.class.shortcuts[w.sum]
	for i, s := range all {
		if p.suits(s, b, done) && p.promising(s, b, done) && p.try(s, b, done) {
			raise(all, i)
			return p.jumped(s, b, done)
		}
	}
	came := w.taken != nil
	w.taken = nil
	switch n := len(all); {
	case n >= maxAlike:
	case n > 0 && all[n-1].turns <= w.limit && b.inside(done, all[n-1].turns):
		w.record(p, b, done, all[n-1].turns)
	case n == 0 && came && b.class.isDeadEnd(w.sum) && few <= w.limit && b.inside(done, few):
		w.record(p, b, done, few)
		w.rec.bridges = true
	}
	return 0
}

// isDeadEnd reports whether a shortcut led here before, from where none continues.
func (c *class) isDeadEnd(sum uint64) bool {
	c.deadEnds[sum]++
	return c.deadEnds[sum] > 1
}

// raise moves a shortcut to the front of those with as many iterations.
func raise(all []*shortcut, i int) {
	for ; i > 0 && all[i-1].turns == all[i].turns; i-- {
		all[i-1], all[i] = all[i], all[i-1]
	}
}

// suits reports whether a shortcut may be tried here. It may not if a chart would have to divide it into
// columns.
func (p *Player) suits(s *shortcut, b *body, done int) bool {
	return s.start == p.watch.sum && b.inside(done, s.turns) &&
		(p.chart == nil || p.chart.whole(b.loop.At+done*len(b.steps), s.events))
}

// jumped is called after a shortcut was taken. If a short one is taken again and
// again, a longer one is worth recording.
func (p *Player) jumped(s *shortcut, b *body, done int) int {
	w := &p.watch
	if w.taken != nil {
		w.taken.then = s
	}
	w.again++
	if w.taken != s {
		w.again = 0
	}
	w.taken = s
	w.jumped(s)
	long := (few + s.turns - 1) / s.turns * s.turns
	if w.again == 2 && s.turns < few && long <= w.limit && !s.longer && b.inside(done+s.turns, long) {
		s.longer = true
		w.record(p, b, done+s.turns, long)
	}
	return s.turns
}
