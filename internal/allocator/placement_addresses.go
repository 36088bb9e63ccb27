// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"math/bits"
	"slices"
)

// addresses is the part of the process's address space that the driver uses: its chunks, and the source of the next
// one. A run has tens of chunks; a search among a million takes only twenty steps.
type addresses struct {
	chunks []chunk          // oldest first; a released chunk leaves a hole in the slice
	rooms  []uint64         // a binary tree over the chunks: the largest hole below each node
	owner  map[uint64]int32 // the chunk of each placed address
	gone   int              // the number of released chunks
	gaps   []span           // released ranges, by address
	floor  uint64           // all addresses below it are unused
	spare  []span           // memory for the hole lists of new chunks
	work   uint64           // number of gaps and holes examined
	undo   undo
}

// forget removes all chunks.
func (a *addresses) forget() {
	a.chunks, a.rooms, a.gone = a.chunks[:0], nil, 0
	if a.owner == nil {
		a.owner = map[uint64]int32{}
	}
	clear(a.owner)
}

// place finds addresses for bytes in the newest chunk with a large enough hole, or in a new chunk.
func (a *addresses) place(bytes uint64) uint64 {
	i := a.newest(bytes)
	if i < 0 {
		a.grows()
		lo := a.reserve(roundUp(bytes, chunkUnit))
		i = a.add(span{lo, lo + roundUp(bytes, chunkUnit)}, lo+bytes)
		a.owner[lo] = i
		a.placed(lo)
		return lo
	}
	c := &a.chunks[i]
	a.work += uint64(len(c.holes))
	a.changes(i)
	addr := c.take(bytes)
	a.setRoom(i)
	a.owner[addr] = i
	a.placed(addr)
	return addr
}

// add adds a new chunk that is free from the given address on.
func (a *addresses) add(s span, from uint64) int32 {
	const holes = 4 // more than most chunks ever have at a time
	if len(a.spare) < holes {
		a.spare = make([]span, 64*holes)
	}
	c := chunk{span: s, holes: a.spare[:0:holes]}
	a.spare = a.spare[holes:]
	if from < s.hi {
		c.put(span{from, s.hi})
	}
	a.chunks = append(a.chunks, c)
	i := int32(len(a.chunks) - 1)
	if 2*len(a.chunks) > len(a.rooms) {
		a.measure()
	} else {
		a.setRoom(i)
	}
	return i
}

// reserve acts like the kernel's mmap: it returns the top of the highest gap that is large enough, or else the next
// addresses down.
func (a *addresses) reserve(bytes uint64) uint64 {
	for i := len(a.gaps) - 1; i >= 0; i-- {
		a.work++
		g := &a.gaps[i]
		if g.bytes() < bytes {
			continue
		}
		g.hi -= bytes
		lo := g.hi
		if g.bytes() == 0 {
			a.gaps = slices.Delete(a.gaps, i, i+1)
		}
		return lo
	}
	a.floor -= bytes
	return a.floor
}

// release frees s, and releases its chunk if nothing else is in it.
func (a *addresses) release(s span) {
	i, ok := a.owner[s.lo]
	if !ok {
		return
	}
	delete(a.owner, s.lo)
	a.put(i, s)
	if c := &a.chunks[i]; c.empty() {
		a.work += uint64(len(a.gaps)) / 64 // an insertion may have to move the gaps
		a.gaps = insertSpan(a.gaps, c.span)
		*c = chunk{}
		a.setRoom(i)
		if a.gone++; a.gone > 64 && 2*a.gone > len(a.chunks) {
			a.closeUp()
		}
	}
}

// put returns a range to a chunk.
func (a *addresses) put(i int32, s span) {
	a.work += uint64(len(a.chunks[i].holes))
	a.changes(i)
	a.chunks[i].put(s)
	a.setRoom(i)
}

// closeUp removes the released chunks from the slice.
func (a *addresses) closeUp() {
	moved := make([]int32, len(a.chunks))
	kept := a.chunks[:0]
	for i, c := range a.chunks {
		moved[i] = int32(len(kept))
		if c.hi > 0 {
			kept = append(kept, c)
		}
	}
	a.chunks, a.gone = kept, 0
	for addr, i := range a.owner {
		a.owner[addr] = moved[i]
	}
	a.measure()
}

// newest returns the last chunk with a hole of that size, or -1.
func (a *addresses) newest(bytes uint64) int32 {
	if len(a.rooms) == 0 || a.rooms[1] < bytes {
		return -1
	}
	i := 1
	for half := len(a.rooms) / 2; i < half; {
		if i = 2*i + 1; a.rooms[i] < bytes {
			i--
		}
	}
	return int32(i - len(a.rooms)/2)
}

// setRoom updates the tree for a chunk.
func (a *addresses) setRoom(chunk int32) {
	i := len(a.rooms)/2 + int(chunk)
	a.rooms[i] = a.chunks[chunk].room
	for i /= 2; i > 0; i /= 2 {
		most := max(a.rooms[2*i], a.rooms[2*i+1])
		if a.rooms[i] == most {
			return
		}
		a.rooms[i] = most
	}
}

// measure rebuilds the tree, with room for twice as many chunks.
func (a *addresses) measure() {
	half := 1 << bits.Len(uint(len(a.chunks)))
	a.rooms = make([]uint64, 2*half)
	for i := range a.chunks {
		a.rooms[half+i] = a.chunks[i].room
	}
	for i := half - 1; i > 0; i-- {
		a.rooms[i] = max(a.rooms[2*i], a.rooms[2*i+1])
	}
}
