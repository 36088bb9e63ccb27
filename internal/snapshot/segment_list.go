// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"slices"
)

// segmentList contains segments sorted by address. They are stored in parts of bounded length, so that a change in a
// recording with a hundred thousand segments never moves more than one part.
type segmentList struct {
	parts [][]Segment // no part is empty
}

const partCap = 256

// position is a place between two segments of a list. It is valid until the list changes.
type position struct{ part, at int }

// newSegmentList returns a list of segments, which must be in order.
func newSegmentList(segs []Segment) *segmentList {
	l := &segmentList{}
	for part := range slices.Chunk(segs, partCap/2) {
		l.parts = append(l.parts, slices.Clone(part))
	}
	return l
}

// end returns the first address after a segment.
func (s *Segment) end() uint64 { return s.Addr + s.Size }

// find returns the position before the segment that contains an address. If none does, held is false and the position
// is before the first segment above the address.
func (l *segmentList) find(addr uint64) (p position, held bool) {
	k, _ := slices.BinarySearchFunc(l.parts, addr, func(part []Segment, a uint64) int { return above(part[0].Addr, a) })
	if k == 0 {
		return position{}, false
	}
	part := l.parts[k-1]
	i, _ := slices.BinarySearchFunc(part, addr, func(s Segment, a uint64) int { return above(s.Addr, a) })
	if addr < part[i-1].end() {
		return position{k - 1, i - 1}, true
	}
	return position{k - 1, i}, false
}

// above is the comparison for a search that skips everything that begins at or below an address.
func above(begins, addr uint64) int {
	if begins <= addr {
		return -1
	}
	return cmp.Compare(begins, addr)
}

// after returns the segment after a position, nil at the end.
func (l *segmentList) after(p position) *Segment {
	if p, ok := l.next(p); ok {
		return &l.parts[p.part][p.at]
	}
	return nil
}

// next returns p, or the start of the following part if p is at the end of one. It returns false at the end of the
// list.
func (l *segmentList) next(p position) (position, bool) {
	if p.part < len(l.parts) && p.at == len(l.parts[p.part]) {
		p = position{p.part + 1, 0}
	}
	return p, p.part < len(l.parts)
}

// before returns the segment before a position, nil at the beginning.
func (l *segmentList) before(p position) *Segment {
	switch {
	case p.at > 0:
		return &l.parts[p.part][p.at-1]
	case p.part > 0:
		last := l.parts[p.part-1]
		return &last[len(last)-1]
	}
	return nil
}

// removeAfter removes the segment after a position. The position stays valid.
func (l *segmentList) removeAfter(p position) {
	at, _ := l.next(p)
	l.parts[at.part] = slices.Delete(l.parts[at.part], at.at, at.at+1)
	if len(l.parts[at.part]) == 0 {
		l.parts = slices.Delete(l.parts, at.part, at.part+1)
	}
}

// insert inserts a segment at a position, and returns the position after it.
func (l *segmentList) insert(p position, s Segment) position {
	if p.part == len(l.parts) {
		l.parts = append(l.parts, nil)
	}
	l.parts[p.part] = slices.Insert(l.parts[p.part], p.at, s)
	p.at++
	if part := l.parts[p.part]; len(part) > partCap {
		l.parts[p.part] = part[:partCap/2]
		l.parts = slices.Insert(l.parts, p.part+1, slices.Clone(part[partCap/2:]))
		if p.at > partCap/2 {
			p = position{p.part + 1, p.at - partCap/2}
		}
	}
	return p
}

// all returns the segments in one list.
func (l *segmentList) all() []Segment { return slices.Concat(l.parts...) }
