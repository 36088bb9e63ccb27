// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"cmp"
	"slices"
)

// rangeList is a list of unmapped blocks sorted by address. A run has a few, but a recording can have a hundred
// thousand, so the list is split into parts and an insertion moves at most one part.
type rangeList struct {
	parts [][]int32 // no part is empty
}

const rangePart = 512

// find returns the position of the first block at or above an address, or the end of the list.
func (l *rangeList) find(blocks []block, addr uint64) (part, at int) {
	part, _ = slices.BinarySearchFunc(l.parts, addr, func(p []int32, addr uint64) int {
		return cmp.Compare(blocks[p[len(p)-1]].addr, addr)
	})
	if part == len(l.parts) {
		if part == 0 {
			return 0, 0
		}
		return part - 1, len(l.parts[part-1])
	}
	at, _ = slices.BinarySearchFunc(l.parts[part], addr, func(i int32, addr uint64) int {
		return cmp.Compare(blocks[i].addr, addr)
	})
	return part, at
}

// insert adds block i.
func (l *rangeList) insert(blocks []block, i int32) {
	if len(l.parts) == 0 {
		l.parts = [][]int32{{i}}
		return
	}
	k, at := l.find(blocks, blocks[i].addr)
	p := slices.Insert(l.parts[k], at, i)
	if l.parts[k] = p; len(p) > rangePart {
		l.parts[k] = p[:rangePart/2]
		l.parts = slices.Insert(l.parts, k+1, slices.Clone(p[rangePart/2:]))
	}
}

// erase removes block i. Other blocks may have the same address.
func (l *rangeList) erase(blocks []block, i int32) {
	for k, at := l.find(blocks, blocks[i].addr); k < len(l.parts); k, at = k+1, 0 {
		p := l.parts[k]
		if n := slices.Index(p[at:], i); n >= 0 {
			l.parts[k] = slices.Delete(p, at+n, at+n+1)
			if len(l.parts[k]) == 0 {
				l.parts = slices.Delete(l.parts, k, k+1)
			}
			return
		}
	}
}

// all calls f with each block until f returns false.
func (l *rangeList) all(f func(int32) bool) {
	for _, p := range l.parts {
		for _, i := range p {
			if !f(i) {
				return
			}
		}
	}
}
