// SPDX-License-Identifier: Apache-2.0

package loops

import "slices"

// mark is the start of a block in a segment, in quanta, with the lowest bit set if it is in use. A block ends at
// the next mark; a used mark at the end of the segment ends the last block.
type mark uint64

func (m mark) at() uint64 { return uint64(m >> 1) }

func (m mark) used() bool { return m&1 != 0 }

func freeMark(at uint64) mark { return mark(at << 1) }

func usedMark(at uint64) mark { return mark(at<<1 | 1) }

// none means no layout or no segment.
const none = -1

// segment is a range of device memory, divided into blocks. Adjacent free blocks
// are always merged.
type segment struct {
	addr      uint64 // in quanta
	set       int32  // set of holes that the segment belongs to (pool and CUDA stream); none once the segment is returned
	layout    int32  // index of the shared layout, if it has one
	own       int32  // index of the segment's own layout, if it is not shared
	role      int32  // role in the current recording, from 1
	iteration int32  // iteration that last touched the segment
	prev      int32  // previous and next piece of the same segment, if it is divided
	next      int32
	void      bool // the segment is a free piece
	alone     bool // the segment's layout is never shared
	apart     bool // the segment's holes are ignored while a shortcut is tried
}

// ownLayout is a layout of one segment that can be modified.
type ownLayout struct {
	marks []mark
	sum   uint64 // hash of the blocks, updated as they change
}

// segments holds all segments. Each has a slot according to its address; the lowest address has the highest slot.
type segments struct {
	segs  []segment
	gone  []int32 // indices of returned segments
	owns  []ownLayout
	idle  []int32 // unused indices of owns
	top   uint64  // an address above all segments, in quanta
	slots []int32 // the segment of each slot
	held  uint64  // total size of all segments, in quanta
}

// above is the maximum distance of a segment above the first one. The driver allocates downwards from there, except
// when it fills small gaps.
const above = 1 << 30 / quantum

// slot returns the slot of an address. No two segments share a slot.
func (g *segments) slot(addr uint64) int { return int(g.top/smallBuffer - addr/smallBuffer) }

// place is a block: its segment and offset. The zero place means none.
type place struct {
	seg int32 // from 1
	at  uint64
}

// addSegment adds a new segment, which has no layout yet.
func (g *segments) addSegment(addr uint64, set int32, size uint64) int32 {
	if g.top == 0 {
		g.top = addr/smallBuffer*smallBuffer + above
	}
	g.held += size
	i := g.newSegment(addr, set)
	for n := g.slot(addr); n >= len(g.slots); {
		g.slots = append(doubled(g.slots), none)
	}
	g.slots[g.slot(addr)] = i
	return i
}

func (g *segments) newSegment(addr uint64, set int32) int32 {
	i := int32(len(g.segs))
	if n := len(g.gone); n > 0 {
		i, g.gone = g.gone[n-1], g.gone[:n-1]
	} else {
		g.segs = append(doubled(g.segs), segment{})
	}
	g.segs[i] = segment{addr: addr, set: set, layout: none, own: none, prev: none, next: none}
	return i
}

// doubled returns a slice with room for one more element. It always doubles the capacity; append grows long
// slices by less, and copies them more often.
func doubled[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	return slices.Grow(s, max(len(s), 16))
}

// marks returns the blocks of a segment.
func (p *Player) marks(s *segment) []mark {
	if s.own != none {
		return p.owns[s.own].marks
	}
	return p.shared[s.layout].marks
}

// sum returns the hash of a segment's blocks.
func (p *Player) sum(s *segment) uint64 {
	if s.own != none {
		return p.owns[s.own].sum
	}
	return p.shared[s.layout].sum
}

// edit gives a segment its own layout so that it can be modified.
func (p *Player) edit(i int32) *ownLayout {
	s := &p.segs[i]
	if s.own != none {
		return &p.owns[s.own]
	}
	l := &p.shared[s.layout]
	p.leave(s)
	s.own, s.layout = p.newOwn(), none
	o := &p.owns[s.own]
	o.marks, o.sum = append(o.marks[:0], l.marks...), l.sum
	for _, h := range l.holes {
		p.sets[s.set].add(h.size, hole{s.addr + h.at, i})
	}
	return o
}

// share replaces a segment's own layout with an equal shared one.
func (p *Player) share(s *segment, layout int32) {
	if s.own == none || s.alone {
		return
	}
	for _, h := range p.shared[layout].holes {
		p.sets[s.set].drop(h.size)
	}
	p.idle = append(p.idle, s.own)
	s.own = none
	p.enter(s, layout)
}

func (g *segments) newOwn() int32 {
	if n := len(g.idle); n > 0 {
		i := g.idle[n-1]
		g.idle = g.idle[:n-1]
		return i
	}
	g.owns = append(g.owns, ownLayout{})
	return int32(len(g.owns) - 1)
}

// find returns the index of the block that starts at an offset, or where it would be inserted.
func find(marks []mark, at uint64) int {
	lo, hi := 0, len(marks)-1
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); marks[mid].at() < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// use marks size quanta of the free block j as used.
func (o *ownLayout) use(j int, size uint64) {
	at := o.marks[j].at()
	whole := o.marks[j+1].at() - at
	o.sum -= sumOf(o.marks[j], whole)
	o.marks[j] |= 1
	o.sum += sumOf(o.marks[j], size)
	if size < whole {
		rest := freeMark(at + size)
		o.marks = slices.Insert(o.marks, j+1, rest)
		o.sum += sumOf(rest, whole-size)
	}
}

// release frees block j and merges it with its free neighbors. It returns the neighbors' sizes, with 0 for one in
// use, and the index of the merged block.
func (o *ownLayout) release(j int) (before, after uint64, at int) {
	m := o.marks
	end := m[j+1].at()
	o.sum -= sumOf(m[j], end-m[j].at())
	from, to := j, j+1
	if !m[j+1].used() {
		after = m[j+2].at() - end
		o.sum -= sumOf(m[j+1], after)
		to, end = j+2, m[j+2].at()
	}
	if j > 0 && !m[j-1].used() {
		before = m[j].at() - m[j-1].at()
		o.sum -= sumOf(m[j-1], before)
		from = j - 1
	}
	m[from] = freeMark(m[from].at())
	o.marks = append(m[:from+1], m[to:]...)
	o.sum += sumOf(m[from], end-m[from].at())
	return before, after, from
}
