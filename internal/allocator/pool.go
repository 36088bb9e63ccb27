// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"cmp"
	"slices"

	"snug/internal/freeset"
)

// pool has the free blocks of one size class, small or large, for all streams. A block of one stream is never given
// to another, so each stream has its own set, and the stream's handle, PyTorch's first sort key, only determines the
// order in which segments are released. Sets are created when first needed, because a recording may name thousands of
// streams and pools.
type pool struct {
	small     bool
	row       int // row of the statistics
	owner     *privatePool
	free      []*freeset.Set // by stream index; nil or missing if there never was a free block
	unmapped  []rangeList    // by stream index, if any
	findCalls uint64
}

// set returns the free blocks of a stream; nil if there never were any.
func (p *pool) set(stream uint16) *freeset.Set {
	if int(stream) >= len(p.free) {
		return nil
	}
	return p.free[stream]
}

// makeSet returns the free blocks of a stream, creating the set if necessary.
func (p *pool) makeSet(stream uint16) *freeset.Set {
	if n := int(stream) + 1 - len(p.free); n > 0 {
		p.free = append(p.free, make([]*freeset.Set, n)...)
	}
	if p.free[stream] == nil {
		p.free[stream] = new(freeset.Set)
	}
	return p.free[stream]
}

// ranges returns the unmapped blocks of a stream.
func (p *pool) ranges(stream uint16) *rangeList {
	if n := int(stream) + 1 - len(p.unmapped); n > 0 {
		p.unmapped = append(p.unmapped, make([]rangeList, n)...)
	}
	return &p.unmapped[stream]
}

func (p *pool) isCustom() bool { return p.owner != nil && p.owner.CustomAllocator }

func (a *Allocator) poolOf(b *block) *pool { return a.pools[b.pool] }

// entryOf returns the block's key in a free set. Among equal sizes, the lower address is preferred up to 2.11, and
// the block that was created first from 2.12.
func (a *Allocator) entryOf(i int32) freeset.Entry {
	b := &a.blocks[i]
	if a.rules.tieByCreation {
		return freeset.Entry{Size: b.size, Tie: b.order, Block: i}
	}
	return freeset.Entry{Size: b.size, Tie: b.addr, Block: i}
}

func (a *Allocator) insertFree(i int32) {
	b := &a.blocks[i]
	p := a.pools[b.pool]
	b.gcBase = p.findCalls
	p.makeSet(b.stream).Insert(a.entryOf(i))
}

func (a *Allocator) eraseFree(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].free[b.stream].Erase(a.entryOf(i))
}

func (a *Allocator) insertUnmapped(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].ranges(b.stream).insert(a.blocks, i)
}

func (a *Allocator) eraseUnmapped(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].ranges(b.stream).erase(a.blocks, i)
}

// freeBlocks lists the pool's free blocks in PyTorch's order: by stream handle, size and tie-break. The list is valid
// until the next call.
func (a *Allocator) freeBlocks(p *pool) []int32 {
	a.scratch = a.scratch[:0]
	for _, q := range a.streamsByHandle() {
		if set := p.set(q); set != nil {
			a.scratch = set.AppendBlocks(a.scratch)
		}
	}
	a.work += uint64(len(a.scratch) + len(a.streams))
	return a.scratch
}

// streamsByHandle returns the stream indices sorted by handle.
func (a *Allocator) streamsByHandle() []uint16 {
	if len(a.ordered) < len(a.streams) {
		for i := len(a.ordered); i < len(a.streams); i++ {
			a.ordered = append(a.ordered, uint16(i))
		}
		slices.SortFunc(a.ordered, func(x, y uint16) int { return cmp.Compare(a.streams[x], a.streams[y]) })
	}
	return a.ordered
}
