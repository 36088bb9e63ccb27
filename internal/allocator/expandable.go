// SPDX-License-Identifier: Apache-2.0

package allocator

// An expandable segment is one long range of addresses for each pool and stream, a little longer than the memory of
// the card, whose pages are mapped to memory as needed. Blocks grow into the unmapped part instead of leaving a
// remainder in each of many segments.
//
//	range  |A A A|f f|A A|f f f|u u u u u u u u u …|
//	        mapped pages ─────┘ └ unmapped
//
// The unmapped parts are blocks as well, kept in a separate set by address. Pages are 2 MiB in the small pool, and
// the size of a large segment in the large pool. Memory is released only page by page, and only when the cache is
// flushed. shouldSplit in alloc.go decides when a block is split.

// virtualRange is one expandable segment.
type virtualRange struct {
	base, page uint64
}

// page returns the unit in which the pool's expandable segments grow.
func (a *Allocator) page(p *pool) uint64 {
	if p.small {
		return SmallBuffer
	}
	return a.opt.LargeSegment
}

// growExpandable maps as many pages as r needs and returns the block, or 0. If one of several mappings fails, the
// pages mapped before it stay reserved.
func (a *Allocator) growExpandable(r *request) int32 {
	c := a.findRoom(r)
	if !a.blocks[c].mapped() && !a.mapPages(c, min(a.blocks[c].size, r.size)) {
		return 0
	}
	for a.blocks[c].size < r.size {
		// c is followed by an unmapped block, which merges with it when mapped.
		u := a.blocks[c].next
		if u == 0 || !a.mapPages(u, min(r.size-a.blocks[c].size, a.blocks[u].size)) {
			return 0
		}
		c = u
	}
	a.eraseFree(c)
	return c
}

// findRoom returns the first block of a long enough run of free and unmapped blocks. If there is none, it reserves a
// new range.
func (a *Allocator) findRoom(r *request) int32 {
	found := int32(0)
	r.pool.ranges(r.stream).all(func(u int32) bool {
		c := u
		if prev := a.blocks[u].prev; prev != 0 && a.blocks[prev].idle() {
			c = prev
		}
		var bytes uint64
		for i := c; i != 0 && bytes < r.size && a.blocks[i].idle(); i = a.blocks[i].next {
			a.work++
			bytes += a.blocks[i].size
		}
		if bytes >= r.size {
			found = c
		}
		return found == 0 && a.work < maxWork
	})
	if found == 0 {
		return a.newRange(r)
	}
	return found
}

func (a *Allocator) newRange(r *request) int32 {
	page, size := a.page(r.pool), a.rangeSize(r.pool)
	base := a.dev.Reserve(size)
	a.ranges = append(a.ranges, virtualRange{base, page})
	c := a.newBlock(r.poolIndex, r.stream, base, size)
	a.blocks[c].vrange = int32(len(a.ranges) - 1)
	a.blocks[c].flags |= flagUnmapped
	a.insertUnmapped(c)
	return c
}

// rangeSize returns nine eighths of the card's memory, in whole pages.
func (a *Allocator) rangeSize(p *pool) uint64 {
	_, total := a.dev.Info()
	return roundUp(total+total/8, a.page(p))
}

// mapPages maps the first bytes of the unmapped block u, in whole pages, and makes them a free block. It returns
// false if the device has no memory left.
func (a *Allocator) mapPages(u int32, bytes uint64) bool {
	b := &a.blocks[u]
	page := a.ranges[b.vrange].page
	bytes = roundUp(bytes, page)
	if mapped := a.dev.Map(page, bytes/page); mapped < bytes/page {
		a.dev.Unmap(page, mapped)
		return false
	}
	a.eraseUnmapped(u)
	b.flags &^= flagUnmapped
	if bytes < b.size {
		a.cutUnmapped(u, bytes)
	}
	a.merge(u, a.blocks[u].prev)
	a.merge(u, a.blocks[u].next)
	a.insertFree(u)
	a.countGrowth(a.poolOf(&a.blocks[u]), bytes)
	return true
}

// cutUnmapped shortens the unmapped block u to bytes and makes the remainder another unmapped block.
func (a *Allocator) cutUnmapped(u int32, bytes uint64) {
	b := a.blocks[u]
	rest := a.newBlock(b.pool, b.stream, b.addr+bytes, b.size-bytes)
	a.blocks[rest].vrange = b.vrange
	a.blocks[rest].flags |= flagUnmapped
	a.linkAfter(rest, u)
	a.blocks[u].size = bytes
	a.insertUnmapped(rest)
}

// unmapPages returns the whole pages inside the free block i to the device. The
// pieces before and after them stay free.
func (a *Allocator) unmapPages(i int32) {
	b := a.blocks[i]
	v := a.ranges[b.vrange]
	first := v.base + roundUp(b.addr-v.base, v.page)
	last := b.addr + b.size - (b.addr+b.size-v.base)%v.page
	if first >= last {
		return
	}
	a.eraseFree(i)
	if before := first - b.addr; before > 0 {
		a.linkBefore(a.freePiece(&b, b.addr, before), i)
	}
	if after := b.addr + b.size - last; after > 0 {
		a.linkAfter(a.freePiece(&b, last, after), i)
	}
	u := &a.blocks[i]
	u.addr, u.size = first, last-first
	u.flags |= flagUnmapped
	a.merge(i, u.prev)
	a.merge(i, u.next)
	a.insertUnmapped(i)
	a.dev.Unmap(v.page, (last-first)/v.page)
	a.countShrink(a.poolOf(&b), last-first)
}

// freePiece makes part of b a free block and returns its index. The block is not linked yet.
func (a *Allocator) freePiece(b *block, addr, size uint64) int32 {
	piece := a.newBlock(b.pool, b.stream, addr, size)
	a.blocks[piece].vrange = b.vrange
	a.insertFree(piece)
	return piece
}
