// SPDX-License-Identifier: Apache-2.0

package loops

import "slices"

// layout describes how a segment is divided into blocks. Many segments of a set can share one.
type layout struct {
	marks   []mark
	sum     uint64
	set     int32
	holes   []extent // free blocks, in order
	members members  // segments that have this layout
	next    int32    // another layout with the same hash
}

// extent is a free block of a layout.
type extent struct{ at, size uint64 }

// layouts holds the shared layouts without duplicates.
type layouts struct {
	shared []layout
	bySum  map[uint64]int32
}

// lookUp returns the shared layout with these marks, or none.
func (l *layouts) lookUp(set int32, marks []mark, sum uint64) int32 {
	i, ok := l.bySum[sum]
	if !ok {
		return none
	}
	for i != none && (l.shared[i].set != set || !slices.Equal(l.shared[i].marks, marks)) {
		i = l.shared[i].next
	}
	return i
}

// intern makes marks a shared layout.
func (l *layouts) intern(set int32, marks []mark, sum uint64) int32 {
	if i := l.lookUp(set, marks, sum); i != none {
		return i
	}
	next := int32(none)
	if i, ok := l.bySum[sum]; ok {
		next = i
	}
	own := slices.Clone(marks)
	l.shared = append(l.shared, layout{marks: own, sum: sum, set: set, holes: holesOf(own), next: next})
	l.bySum[sum] = int32(len(l.shared) - 1)
	return l.bySum[sum]
}

// empty returns the layout of a segment that is one free block.
func (l *layouts) empty(set int32, size uint64) int32 {
	marks := [2]mark{freeMark(0), usedMark(size)}
	return l.intern(set, marks[:], sumOf(marks[0], size))
}

func holesOf(marks []mark) (out []extent) {
	for j, m := range marks {
		if !m.used() {
			out = append(out, extent{m.at(), marks[j+1].at() - m.at()})
		}
	}
	return out
}

// hole returns the first hole of a size in a layout.
func (l *layout) hole(size uint64) (at uint64, ok bool) {
	for _, h := range l.holes {
		if h.size == size {
			return h.at, true
		}
	}
	return 0, false
}

// enter makes a segment a member of a layout.
func (p *Player) enter(s *segment, i int32) {
	s.layout = i
	l := &p.shared[i]
	if l.members.add(p.slot(s.addr)); l.members.count > 1 {
		return
	}
	for _, h := range l.holes {
		p.sets[l.set].join(h.size, i)
	}
}

// leave ends a segment's membership in its layout. The segment keeps the layout's number.
func (p *Player) leave(s *segment) {
	l := &p.shared[s.layout]
	if l.members.remove(p.slot(s.addr)); l.members.count > 0 {
		return
	}
	for _, h := range l.holes {
		p.sets[l.set].part(h.size, s.layout)
	}
}

// settle replaces a segment's own layout with an equal shared one, if one exists, and returns that.
func (p *Player) settle(s *segment) int32 {
	if s.own != none {
		if s.void || s.alone {
			return none
		}
		o := &p.owns[s.own]
		i := p.lookUp(s.set, o.marks, o.sum)
		if i == none {
			return none
		}
		p.share(s, i)
	}
	return s.layout
}

// internLayout returns a segment's layout as a shared one, even if the segment has its own layout.
func (p *Player) internLayout(s *segment) int32 {
	if s.own == none {
		return s.layout
	}
	o := &p.owns[s.own]
	return p.intern(s.set, o.marks, o.sum)
}

// sumOf returns a block's contribution to the hash of its layout.
func sumOf(m mark, size uint64) uint64 {
	return scatter(uint64(m)*0x9e3779b97f4a7c15 + size)
}

// scatter mixes the bits of x.
func scatter(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
