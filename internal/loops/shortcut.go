// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"cmp"
	"slices"
)

// shortcut records the effect of some iterations of a loop, and the conditions under which the same number of later
// iterations have the same effect.
//
// It holds if each role has a segment with the recorded layout, no segment without a role has a hole that would
// have been chosen instead, segments whose addresses decided a tie are in the same order, and the allocations
// that the iterations free are at the same places.
type shortcut struct {
	iterations, events int
	start, end         uint64 // hashes of the iteration before the first, and of the last
	roles              []role
	guards             []guard
	ties               []tie    // ties, by their later role
	deeper             []deeper // which voids must be larger than others
	frees              []spread // places of the blocks the iterations free
	leaves             []spread // places of the blocks that the iterations leave allocated

	grows                uint64 // memory allocated from the driver, in quanta
	lastGrowth           int    // the event of the last growth
	allocated, requested int64  // net change
	most, mostAsked      int64  // maximum after any event
	mostAt               int    // the first event at the maximum

	then   *shortcut // the shortcut that was taken after this one last time
	longer bool      // a longer shortcut has been recorded
}

// role is the part that a segment, or a piece of one, plays in a shortcut.
type role struct {
	how           way
	set           int32
	before, after int32  // layouts before and after; after is none if the segment no longer exists
	size          uint64 // for draw, the requested size; for grow, the size of the segment
	got           uint64 // for draw, the size of the hole
	at            uint64 // the block that was allocated or freed; for born, the offset in the void
	owner         owner  // for locate, the owner of the block
	of            int32  // for beside, the neighbor; for born, the void after it
	side          int8   // for beside, -1 if the segment is before the neighbor, 1 if after
	left, right   int32  // neighbors at the start: a role, none, or roleless

	void       bool  // the segment is a void, which has no layouts
	low, high  int64 // for a void, the range of its size
	moves      int64 // for a void, the change of its address
	widens     int64 // for a void, the change of its size
	prev, next int32 // neighbors at the end: a role, none, or roleless
}

// roleless is a neighbor without a role, which does not change.
const roleless = -2

// way is how a segment becomes part of a shortcut.
type way uint8

const (
	draw   way = iota // the segment's hole is the best fit for a request
	locate            // a block in the segment is freed
	grow              // the segment is new
	beside            // the segment is next to another role's segment
	born              // the piece was split off a void
)

// guard is the worst hole accepted for requests of a size. No other segment may have a better one. got is larger
// than any hole if a new segment was needed.
type guard struct {
	set       int32
	size, got uint64
	roles     []int32 // the roles with that hole
	voids     []deep  // the chosen voids
}

// tie is a pair of roles with holes of equal size, of which the one with the lower address was chosen.
type tie struct{ low, high int32 }

// last returns the later role of the two.
func (t tie) last() int32 { return max(t.low, t.high) }

// deeper is the condition that one void is larger than another by at least a given amount.
type deeper struct {
	than, role int32
	by         int64
}

// deep is a void, and the change of its size from the start until it was chosen.
type deep struct {
	role  int32
	wider int64
}

// spread is a run of neighboring copies of one allocation, all in the segment with the given role.
type spread struct {
	slot int32
	role int32
	run
}

// runsOf joins neighboring copies into runs, the last ones first if down is set.
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

// maxAlike limits the number of shortcuts with the same start.
const maxAlike = 256

// add adds a shortcut to those with the same start: longest first, newest first among equally long ones.
func (c *class) add(s *shortcut) {
	all := c.shortcuts[s.start]
	i := slices.IndexFunc(all, func(x *shortcut) bool { return x.iterations <= s.iterations })
	if i < 0 {
		i = len(all)
	}
	all = slices.Insert(all, i, s)
	c.shortcuts[s.start] = all[:min(len(all), maxAlike)]
	for _, x := range all {
		x.then = nil
	}
}

// jump skips iterations with a shortcut, and returns how many. If shortcuts start here but none holds, it records
// the next iterations.
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
	case n > 0 && all[n-1].iterations <= w.limit && b.inside(done, all[n-1].iterations):
		w.record(p, b, done, all[n-1].iterations)
	case n == 0 && came && b.class.isDeadEnd(w.sum) && few <= w.limit && b.inside(done, few):
		w.record(p, b, done, few)
		w.rec.bridges = true
	}
	return 0
}

// isDeadEnd reports whether a shortcut has ended in this state before and no other starts from it.
func (c *class) isDeadEnd(sum uint64) bool {
	c.deadEnds[sum]++
	return c.deadEnds[sum] > 1
}

// raise moves a shortcut to the front of those with the same number of iterations.
func raise(all []*shortcut, i int) {
	for ; i > 0 && all[i-1].iterations == all[i].iterations; i-- {
		all[i-1], all[i] = all[i], all[i-1]
	}
}

// suits reports whether a shortcut may be tried here. It may not if it would span several columns of a chart.
func (p *Player) suits(s *shortcut, b *body, done int) bool {
	return s.start == p.watch.sum && b.inside(done, s.iterations) &&
		(p.chart == nil || p.chart.whole(b.loop.At+done*len(b.steps), s.events))
}

// jumped is called after a shortcut was taken. If a short one is taken repeatedly, a longer one is worth
// recording.
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
	long := (few + s.iterations - 1) / s.iterations * s.iterations
	if w.again == 2 && s.iterations < few && long <= w.limit && !s.longer && b.inside(done+s.iterations, long) {
		s.longer = true
		w.record(p, b, done+s.iterations, long)
	}
	return s.iterations
}
