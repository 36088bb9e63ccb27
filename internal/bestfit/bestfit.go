// SPDX-License-Identifier: Apache-2.0

// Package bestfit simulates PyTorch's caching allocator for callers that need only two numbers, the peaks of
// allocated and of reserved memory. It supports the default options, a card that never runs out of memory, and blocks
// that are used by only one CUDA stream. Package allocator does everything else, and a property test compares the two
// event by event.
//
// A search over many sizes of a training step with a million events needs only the two peaks, and gets them here
// about three times as fast. It is faster because it keeps no other statistics; because a free block is one word,
// usually the only one of its size, in an array that stays in the fastest cache; and because an allocation that is
// freed immediately usually changes nothing, so its effect is looked up and not carried out.
package bestfit

import (
	"snug/internal/allocator"
)

// The allocator's constants, from allocator/sizes.go.
const (
	quantum     = allocator.Quantum
	smallMost   = allocator.SmallSize
	smallBuffer = allocator.SmallBuffer
	largeBuffer = allocator.LargeBuffer
	minLarge    = allocator.MinLarge
	roundLarge  = allocator.RoundLarge
)

// block is a part of a segment; prev and next are its neighbors by address, 0 means none.
type block struct {
	tie, size  uint64 // among equal sizes, the lowest tie wins
	prev, next int32
	set        int32 // set of free blocks: pool and stream
	free       bool
}

// Player is an allocator in use.
type Player struct {
	dev        allocator.Device
	byCreation bool // among equal sizes, the block created first wins, not the lower address
	blocks     []block
	spare      int32 // the first unused block; next links to the others
	sets       []*holes
	created    uint64

	allocated, reserved uint64

	PeakAllocated uint64 // the most bytes allocated at once, in whole blocks
	PeakReserved  uint64 // the most bytes reserved on the device
}

// Suits reports whether this package supports the options.
func Suits(o allocator.Options) bool {
	return o == allocator.Options{} || o == allocator.DefaultOptions()
}

// New returns an allocator for a PyTorch version on a device that never runs out of memory, for CUDA streams numbered
// from 0 and about this many live allocations.
func New(dev allocator.Device, v allocator.Version, streams, alive int) *Player {
	p := &Player{dev: dev, byCreation: v.AtLeast(12), blocks: make([]block, 1, 64+2*alive)}
	for range 2 * streams {
		p.sets = append(p.sets, &holes{blocks: &p.blocks})
	}
	return p
}

// Request is an allocation size in the allocator's terms. A program with few sizes computes one Request for each.
type Request struct {
	size uint64
	bin  uint32
	pool int32 // 0 means small, 1 means large
}

// Of returns the request for n bytes, which must not be 0.
func Of(n uint64) Request {
	r := Request{size: (n + quantum - 1) &^ (quantum - 1)}
	if r.size > smallMost {
		r.pool = 1
	}
	r.bin = binOf(r.size)
	return r
}

// cuts reports whether the request splits a block of this size.
func (r *Request) cuts(size uint64) bool {
	rest := size - r.size
	return rest > smallMost || rest != 0 && r.pool == 0
}

// Alloc returns the block that a request gets on a stream.
func (p *Player) Alloc(r *Request, stream uint16) int32 {
	set := int32(stream)*2 + r.pool
	i := p.sets[set].take(r)
	if i == 0 {
		i = p.grow(r, set)
	}
	b := &p.blocks[i]
	if r.cuts(b.size) {
		i = p.split(i, r.size)
		b = &p.blocks[i]
	}
	b.free = false
	if p.allocated += b.size; p.allocated > p.PeakAllocated {
		p.PeakAllocated = p.allocated
	}
	return i
}

// AllocFree performs an Alloc and its Free at once. Only the peak changes, with two exceptions: memory may grow,
// and if ties go by age, a block that was split and merged counts as new.
func (p *Player) AllocFree(r *Request, stream uint16) {
	got, _, _ := p.sets[int32(stream)*2+r.pool].best(r)
	if got == 0 {
		p.Free(p.Alloc(r, stream))
		return
	}
	if r.cuts(got) {
		if p.byCreation {
			p.Free(p.Alloc(r, stream))
			return
		}
		got = r.size
	}
	if p.allocated+got > p.PeakAllocated {
		p.PeakAllocated = p.allocated + got
	}
}

// Free frees a block and merges it with its free neighbors.
func (p *Player) Free(i int32) {
	b := &p.blocks[i]
	p.allocated -= b.size
	s := p.sets[b.set]
	if k := b.prev; k != 0 && p.blocks[k].free {
		o := &p.blocks[k]
		s.erase(holeOf(k, o.tie), o.size)
		b.prev, b.size = o.prev, b.size+o.size
		if !p.byCreation {
			b.tie = o.tie
		}
		if o.prev != 0 {
			p.blocks[o.prev].next = i
		}
		o.next, p.spare = p.spare, k
	}
	if k := b.next; k != 0 && p.blocks[k].free {
		o := &p.blocks[k]
		s.erase(holeOf(k, o.tie), o.size)
		b.next, b.size = o.next, b.size+o.size
		if o.next != 0 {
			p.blocks[o.next].prev = i
		}
		o.next, p.spare = p.spare, k
	}
	b.free = true
	s.insert(holeOf(i, b.tie), b.size)
}

// grow allocates a segment from the device and returns its block.
func (p *Player) grow(r *Request, set int32) int32 {
	bytes := uint64(smallBuffer)
	switch {
	case r.pool == 0:
	case r.size < minLarge:
		bytes = largeBuffer
	default:
		bytes = (r.size + roundLarge - 1) / roundLarge * roundLarge
	}
	addr, _ := p.dev.Take(bytes)
	if p.reserved += bytes; p.reserved > p.PeakReserved {
		p.PeakReserved = p.reserved
	}
	return p.newBlock(block{tie: addr / quantum, size: bytes, set: set})
}

// split cuts size bytes off the front of i as a new block and returns it. The remainder stays block i, and is free.
func (p *Player) split(i int32, size uint64) int32 {
	b := &p.blocks[i]
	front := p.newBlock(block{tie: b.tie, size: size, prev: b.prev, next: i, set: b.set})
	b = &p.blocks[i]
	if b.prev != 0 {
		p.blocks[b.prev].next = front
	}
	b.prev = front
	if !p.byCreation {
		b.tie += size / quantum
	}
	b.size -= size
	b.free = true
	p.sets[b.set].insert(holeOf(i, b.tie), b.size)
	return front
}

func (p *Player) newBlock(b block) (i int32) {
	if p.byCreation {
		b.tie = p.created
		p.created++
	}
	if i = p.spare; i != 0 {
		p.spare = p.blocks[i].next
		p.blocks[i] = b
		return i
	}
	p.blocks = append(p.blocks, b)
	return int32(len(p.blocks) - 1)
}
