// SPDX-License-Identifier: Apache-2.0

package allocator

import "snug/internal/freeset"

// request is an allocation in progress: its size, its stream and its pool. See sizes.go for rounding, and grow.go for
// what happens if nothing fits.
type request struct {
	bytes      uint64 // as requested
	size       uint64 // rounded
	segment    uint64 // size of the new segment if nothing fits
	pool       *pool
	poolIndex  uint16
	stream     uint16
	expandable bool
}

func (a *Allocator) alloc(n uint64, stream uint16) (int32, error) {
	if n == 0 {
		return 0, nil
	}
	if n >= absurdlyLarge {
		return 0, &OutOfMemoryError{Version: a.version, Requested: n, Absurd: true}
	}
	if len(a.captures) == 0 && a.pending.any() {
		a.processEvents()
	}
	var r request
	a.prepare(&r, n, stream)
	b := a.find(&r, r.pool)
	if a.work > maxWork {
		return 0, errTooMuchWork
	}
	if b == 0 {
		var err error
		if b, err = a.obtain(&r); err != nil {
			return 0, err
		}
	}
	return a.finish(&r, b), nil
}

// prepare fills in a request, including its rounded size and its pool.
func (a *Allocator) prepare(r *request, n uint64, stream uint16) {
	r.bytes, r.size, r.stream = n, a.round(n), stream
	r.poolIndex = a.choosePool(r.size, stream)
	r.pool = a.pools[r.poolIndex]
	r.expandable = a.opt.Expandable && !(a.rules.customPoolPlain && r.pool.isCustom())
}

// find removes the best fit from p's free set: the smallest block that is large enough. If the rules of
// max_split_size refuse that block, find does not look for another and returns 0. MaxNonSplitRounding limits how much
// larger than a large request a block may be; its default is in DefaultOptions (options.go).
func (a *Allocator) find(r *request, p *pool) int32 {
	if a.limited && a.opt.GCThreshold > 0 {
		p.findCalls++
	}
	set := p.set(r.stream)
	if set == nil {
		return 0
	}
	c := set.SeekSize(r.size)
	if c.End() {
		return 0
	}
	i := set.At(c).Block
	if a.blocks[i].vrange != 0 {
		set.Settle()
		if c = a.stepExpandable(r, set, set.SeekSize(r.size)); c.End() {
			return 0
		}
		i = set.At(c).Block
	}
	size := a.blocks[i].size
	if limit := a.opt.MaxSplitSize; limit != Unlimited {
		if r.size < limit && size >= limit {
			return 0
		}
		if r.size >= limit && size >= r.size+a.opt.MaxNonSplitRounding {
			return 0
		}
	}
	set.Remove(c)
	return i
}

// stepExpandable returns the block to use when the best fit c is in an expandable segment. A block at the unmapped
// end of its segment counts with the size it could grow to, so that holes inside are filled before the growing end is
// used. If the option is off, expandable blocks are left over from earlier and are skipped.
func (a *Allocator) stepExpandable(r *request, set *freeset.Set, c freeset.Cursor) freeset.Cursor {
	if !r.expandable {
		for c = set.Next(c); !c.End() && a.blocks[set.At(c).Block].vrange != 0; {
			a.work++
			c = set.Next(c)
		}
		return c
	}
	for a.blocks[set.At(c).Block].vrange != 0 {
		a.work++
		next := set.Next(c)
		if next.End() || a.reach(set.At(next).Block) >= a.reach(set.At(c).Block) {
			break
		}
		c = next
	}
	return c
}

// reach returns a free block's size, plus that of the unmapped block after it, if there is one.
func (a *Allocator) reach(i int32) uint64 {
	b := &a.blocks[i]
	if b.next != 0 && !a.blocks[b.next].mapped() {
		return b.size + a.blocks[b.next].size
	}
	return b.size
}

// finish completes a request with a free block: it splits off the remainder and updates the counts.
func (a *Allocator) finish(r *request, i int32) int32 {
	b := &a.blocks[i]
	row := a.pools[b.pool].row
	wasSplit, plain := b.split(), b.vrange == 0
	if a.shouldSplit(r, b) {
		i = a.splitFront(i, r.size)
		b = &a.blocks[i]
		switch rest := a.blocks[b.next].size; {
		case !plain:
		case wasSplit:
			a.stats.sub(row, inactiveSplitBytes, b.size)
		default:
			a.stats.add(row, inactiveSplitBytes, rest)
			a.stats.add(row, inactiveSplit, 1)
		}
	} else if wasSplit && plain {
		a.stats.sub(row, inactiveSplitBytes, b.size)
		a.stats.sub(row, inactiveSplit, 1)
	}
	b.flags |= flagAllocated
	b.requested = r.bytes
	a.countAlloc(row, b.size, b.requested)
	return i
}

// shouldSplit reports whether the remainder of block b after r becomes a separate block. In the small pool and in
// expandable segments, any remainder of 512 bytes or more does, whatever max_split_size_mb is; in the large pool,
// only a remainder of more than 1 MiB.
func (a *Allocator) shouldSplit(r *request, b *block) bool {
	p, rest := a.pools[b.pool], b.size-r.size
	switch {
	case p.owner != nil && p.owner.NoSplit && a.rules.noSplitPools:
		return false
	case p.small || r.expandable:
		return rest >= minBlock
	default:
		return r.size < a.opt.MaxSplitSize && rest > SmallSize
	}
}

// splitFront cuts size bytes off the front of block i as a new block, and returns it. The remainder stays block i
// and keeps its creation counter.
func (a *Allocator) splitFront(i int32, size uint64) int32 {
	rest := &a.blocks[i]
	front := a.newBlock(rest.pool, rest.stream, rest.addr, size)
	a.linkBefore(front, i)
	rest = &a.blocks[i]
	a.blocks[front].vrange = rest.vrange
	rest.addr += size
	rest.size -= size
	a.insertFree(i)
	return front
}

func (a *Allocator) countAlloc(row int, size, requested uint64) {
	all, own := &a.stats.row[rowAll], &a.stats.row[row]
	all[allocation].raise(1)
	all[allocatedBytes].raise(size)
	all[active].raise(1)
	all[activeBytes].raise(size)
	all[requestedBytes].raise(requested)
	own[allocation].add(1)
	own[allocatedBytes].add(size)
	own[active].add(1)
	own[activeBytes].add(size)
	own[requestedBytes].add(requested)
	if size >= a.opt.MaxSplitSize {
		a.stats.oversize.add(1)
	}
}
