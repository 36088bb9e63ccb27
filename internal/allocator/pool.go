// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"cmp"
	"slices"

	"snug/internal/freeset"
)

// pool holds the free blocks of one size class, small or large, for all
// streams. A block of one stream is never given to another, so each stream has
// its own set, and the stream's handle, PyTorch's first sort key, only decides
// the order in which segments go back to the driver.
type pool struct {
	small     bool
	row       int // of the statistics
	owner     *privatePool
	free      []*freeset.Set // by stream index
	unmapped  [][]int32      // by stream index; blocks by address
	byHandle  []uint16       // stream indices in the order of their handles
	findCalls uint64
}

func (p *pool) streamsGrew(handles []uint64) {
	for len(p.free) < len(handles) {
		p.byHandle = append(p.byHandle, uint16(len(p.free)))
		p.free = append(p.free, new(freeset.Set))
		p.unmapped = append(p.unmapped, nil)
	}
	slices.SortFunc(p.byHandle, func(x, y uint16) int { return cmp.Compare(handles[x], handles[y]) })
}

func (p *pool) isCustom() bool { return p.owner != nil && p.owner.CustomAllocator }

func (a *Allocator) poolOf(b *block) *pool { return a.pools[b.pool] }

// entryOf is the block's key in a free set. Up to 2.11 equal sizes go to the
// lower address, from 2.12 to the block that was made first.
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
	p.free[b.stream].Insert(a.entryOf(i))
}

func (a *Allocator) eraseFree(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].free[b.stream].Erase(a.entryOf(i))
}

func (a *Allocator) placeUnmapped(i int32) (*[]int32, int) {
	b := &a.blocks[i]
	set := &a.pools[b.pool].unmapped[b.stream]
	at, _ := slices.BinarySearchFunc(*set, b.addr, func(x int32, addr uint64) int {
		return cmp.Compare(a.blocks[x].addr, addr)
	})
	return set, at
}

func (a *Allocator) insertUnmapped(i int32) {
	set, at := a.placeUnmapped(i)
	*set = slices.Insert(*set, at, i)
}

func (a *Allocator) eraseUnmapped(i int32) {
	set, at := a.placeUnmapped(i)
	for at < len(*set) && (*set)[at] != i {
		at++
	}
	*set = slices.Delete(*set, at, at+1)
}

// freeBlocks lists the pool's free blocks in PyTorch's order: by stream handle,
// size and tie. The list is only good until the next call.
func (a *Allocator) freeBlocks(p *pool) []int32 {
	a.scratch = a.scratch[:0]
	for _, q := range p.byHandle {
		a.scratch = p.free[q].AppendBlocks(a.scratch)
	}
	return a.scratch
}
