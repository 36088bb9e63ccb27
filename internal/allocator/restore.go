// SPDX-License-Identifier: Apache-2.0

package allocator

// restoring is the state of a Restore (state.go) in progress.
type restoring struct {
	tails  []int32              // the last block of each range
	newest map[rangeOwner]int32 // the last range of a pool and stream
}

type rangeOwner struct{ pool, stream uint16 }

// restoreSegment rebuilds one segment: its chain of blocks, then the counts in the statistics. Segments are restored
// in address order.
func (a *Allocator) restoreSegment(s *SegmentState, so *restoring) {
	poolIndex := a.poolForRestore(s)
	p, stream := a.pools[poolIndex], a.stream(s.Stream)
	var vrange, last int32
	if s.Expandable {
		vrange, last = a.rangeForRestore(s, rangeOwner{poolIndex, stream}, so)
	}
	first := int32(len(a.blocks))
	addr := s.Address
	for _, b := range s.Blocks {
		if b.Use == Inactive && last >= first && a.blocks[last].idle() {
			a.blocks[last].size += b.Size // adjacent free blocks become one block
			addr += b.Size
			continue
		}
		last = a.restoreBlock(last, poolIndex, stream, addr, vrange, b)
		addr += b.Size
	}
	if vrange != 0 {
		so.tails[vrange] = last
	}
	a.total += s.Size
	a.stats.add(p.row, reservedBytes, s.Size)
	if p.owner != nil {
		p.owner.bytes += s.Size
	}
	if !s.Expandable {
		a.stats.add(p.row, segmentCount, 1)
	}
	adopt(a.dev, s.Address, s.Size)
	for i := first; i < int32(len(a.blocks)); i++ {
		a.settle(i, p.row)
	}
}

func (a *Allocator) poolForRestore(s *SegmentState) uint16 {
	if s.Pool == (PoolID{}) {
		if s.Small {
			return 0
		}
		return 1
	}
	p := a.findPool(s.Pool)
	if p == nil {
		p = a.newPrivatePool(s.Pool, PoolOptions{})
		p.uses = 1
	}
	return p.half(s.Small)
}

// restoreBlock appends one block after last.
func (a *Allocator) restoreBlock(last int32, pool, stream uint16, addr uint64, vrange int32, s BlockState) int32 {
	i := a.newBlock(pool, stream, addr, s.Size)
	if last != 0 {
		a.linkAfter(i, last)
	}
	b := &a.blocks[i]
	b.vrange, b.owner = vrange, s.ID
	switch s.Use {
	case Inactive:
		b.owner = NoID
		return i
	case ActiveAllocated:
		b.flags |= flagAllocated
	case ActivePending:
		b.flags |= flagHeld
		b.waits = 1
		a.pending.held = append(a.pending.held, i)
		a.pending.heldCount++
	}
	b.requested = s.Requested
	return i
}

// settle counts a restored block and adds it to its set.
func (a *Allocator) settle(i int32, row int) {
	b := &a.blocks[i]
	if b.idle() {
		a.insertFree(i)
		if b.split() && b.vrange == 0 {
			a.stats.add(row, inactiveSplit, 1)
			a.stats.add(row, inactiveSplitBytes, b.size)
		}
		return
	}
	a.countAlloc(row, b.size, b.requested)
	if b.flags&flagAllocated == 0 {
		a.stats.sub(row, allocation, 1)
		a.stats.sub(row, allocatedBytes, b.size)
	}
}

// rangeForRestore finds the expandable segment that a mapped stretch belongs to, and the block before it. Stretches
// of the same pool and stream that are within one range's length belong to the same range; the gap between them
// becomes an unmapped block. A snapshot does not record where the range began; the first mapped page is assumed to be
// its start.
func (a *Allocator) rangeForRestore(s *SegmentState, owner rangeOwner, so *restoring) (vrange, last int32) {
	p := a.pools[owner.pool]
	if v := so.newest[owner]; v != 0 {
		last = so.tails[v]
		end := a.blocks[last].addr + a.blocks[last].size
		if s.Address >= end && s.Address+s.Size <= a.ranges[v].base+a.rangeSize(p) {
			if gap := s.Address - end; gap > 0 {
				last = a.appendUnmapped(last, end, gap)
			}
			return v, last
		}
	}
	a.ranges = append(a.ranges, virtualRange{s.Address, a.page(p)})
	so.tails = append(so.tails, 0)
	so.newest[owner] = int32(len(a.ranges) - 1)
	return so.newest[owner], 0
}

func (a *Allocator) appendUnmapped(last int32, addr, size uint64) int32 {
	b := a.blocks[last]
	u := a.newBlock(b.pool, b.stream, addr, size)
	a.blocks[u].vrange = b.vrange
	a.blocks[u].flags |= flagUnmapped
	a.linkAfter(u, last)
	a.insertUnmapped(u)
	return u
}

// closeRanges adds the unmapped end of every restored range.
func (a *Allocator) closeRanges(so *restoring) {
	for v := int32(1); v < int32(len(a.ranges)); v++ {
		last := so.tails[v]
		b := a.blocks[last]
		end, size := b.addr+b.size, a.rangeSize(a.poolOf(&b))
		if limit := a.ranges[v].base + size; limit > end {
			a.appendUnmapped(last, end, limit-end)
		}
	}
}
