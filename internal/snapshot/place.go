// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	minBlock      = 512     // block sizes are multiples of this
	unsplitAtMost = 1 << 20 // a large block keeps a remainder up to this size
)

// place puts the allocations made before the recording into the segments that existed then: blocks, with free ranges
// between them.
//
// For a block that is freed during the recording, the file has only the requested size, not the block's; a block in
// the large pool can be up to 1 MiB larger. All blocks in that pool are larger than 1 MiB, so a gap of at most that
// size after a block is its own remainder, not a free block. If the gap is larger, learnSizes may find the size.
func (f *folder) place() error {
	f.learnSizes()
	next := 0
	for i := range f.out.Start {
		s := &f.out.Start[i]
		at := s.Addr
		for ; next < len(f.early) && f.early[next].addr < s.Addr+s.Size; next++ {
			b := f.early[next]
			if b.addr < at {
				return fmt.Errorf("frees %#x, which was never allocated", b.addr)
			}
			if b.addr > at {
				s.Blocks = append(s.Blocks, Block{Addr: at, Size: b.addr - at})
			}
			size, err := f.blockSize(s, next)
			if err != nil {
				return err
			}
			block := Block{Addr: b.addr, Size: size, Requested: b.requested, State: Allocated}
			if b.pending {
				block.State = PendingFree
			}
			s.Blocks = append(s.Blocks, block)
			at = b.addr + size
		}
		if end := s.Addr + s.Size; at < end {
			s.Blocks = append(s.Blocks, Block{Addr: at, Size: end - at})
		}
	}
	if next < len(f.early) {
		return fmt.Errorf("frees %#x, which was never allocated", f.early[next].addr)
	}
	return nil
}

// blockSize returns the size of f.early[i]'s block in s.
func (f *folder) blockSize(s *Segment, i int) (uint64, error) {
	b := f.early[i]
	end := s.Addr + s.Size
	if i+1 < len(f.early) {
		end = min(end, f.early[i+1].addr)
	}
	room := end - b.addr
	size := b.block
	if size == 0 {
		size = rounded(b.requested)
		switch large := !s.Small && !s.Expandable; {
		case large && b.learned > 0:
			size = b.learned
		case large && room >= size && room-size <= unsplitAtMost:
			size = room
		}
	}
	if size > room {
		return 0, fmt.Errorf("frees %d bytes at %#x, where only %d are allocated", b.requested, b.addr, room)
	}
	return size, nil
}

// learnSizes finds where blocks end from later allocations: while a block is alive, the free range after it is one
// block, and an allocation takes its front. So the first allocation there begins where the earlier block ends.
func (f *folder) learnSizes() {
	if len(f.early) == 0 {
		return
	}
	settled := make([]bool, len(f.early))
	for i := range f.ids {
		e := f.entry(i)
		if (e.action == actFreeRequested || f.whole && e.action == actFreeCompleted) && f.ids[i]&early != 0 {
			settled[f.id(i)] = true
			continue
		}
		if e.action != actAlloc {
			continue
		}
		at, exact := slices.BinarySearchFunc(f.early, e.addr, func(b before, addr uint64) int { return cmp.Compare(b.addr, addr) })
		if exact || at == 0 || settled[at-1] {
			continue
		}
		settled[at-1] = true
		b := &f.early[at-1]
		if size := rounded(b.requested); e.addr-b.addr >= size && e.addr-b.addr-size <= unsplitAtMost {
			b.learned = e.addr - b.addr
		}
	}
}

func rounded(n uint64) uint64 { return max(minBlock, (n+minBlock-1)/minBlock*minBlock) }
