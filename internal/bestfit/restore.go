// SPDX-License-Identifier: Apache-2.0

package bestfit

import (
	"cmp"
	"slices"

	"snug/internal/allocator"
)

// Restorable reports whether this package could have produced the segments: they belong to known streams and consist
// of blocks that are in use or free, at most MaxAllocations in total.
func Restorable(segments []allocator.SegmentState, streams []uint64) bool {
	blocks := 0
	for i := range segments {
		s := &segments[i]
		if blocks += len(s.Blocks); blocks > MaxAllocations {
			return false
		}
		if s.Expandable || s.Pool != (allocator.PoolID{}) || s.Size == 0 || !slices.Contains(streams, s.Stream) {
			return false
		}
		left := s.Size
		for _, b := range s.Blocks {
			if b.Size == 0 || b.Size > left || b.Use != allocator.Inactive && b.Use != allocator.ActiveAllocated {
				return false
			}
			left -= b.Size
		}
		if left != 0 {
			return false
		}
	}
	return true
}

// Restore starts with the given restorable segments, and sets the block of each allocation by ID.
func (p *Player) Restore(segments []allocator.SegmentState, streams []uint64, blocks []int32) {
	byAddress := slices.Clone(segments)
	slices.SortStableFunc(byAddress, func(x, y allocator.SegmentState) int { return cmp.Compare(x.Address, y.Address) })
	for i := range byAddress {
		p.restore(&byAddress[i], int32(slices.Index(streams, byAddress[i].Stream)), blocks)
	}
	p.PeakAllocated, p.PeakReserved = p.allocated, p.reserved
}

func (p *Player) restore(s *allocator.SegmentState, stream int32, blocks []int32) {
	set, addr, last := stream*2, s.Address, int32(0)
	if !s.Small {
		set++
	}
	first := int32(len(p.blocks))
	for _, b := range s.Blocks {
		free := b.Use == allocator.Inactive
		if free && last != 0 && p.blocks[last].free {
			p.blocks[last].size += b.Size // adjacent free blocks become one block
			addr += b.Size
			continue
		}
		i := p.newBlock(block{tie: addr / quantum, size: b.Size, prev: last, set: set, free: free})
		if last != 0 {
			p.blocks[last].next = i
		}
		if !free {
			p.allocated += b.Size
			if int(b.ID) < len(blocks) {
				blocks[b.ID] = i
			}
		}
		addr, last = addr+b.Size, i
	}
	p.reserved += s.Size
	if a, ok := p.dev.(allocator.Adopter); ok {
		a.Adopt(s.Address, s.Size)
	}
	for i := first; i < int32(len(p.blocks)); i++ {
		if b := &p.blocks[i]; b.free {
			p.sets[set].insert(holeOf(i, b.tie), b.size)
		}
	}
}
