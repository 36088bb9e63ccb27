// SPDX-License-Identifier: Apache-2.0

package allocator

// block is a part of a segment. prev and next are its neighbors in the same segment by address; 0 means none, so a
// block with neither is a whole segment.
//
// Adjacent free blocks are always merged, unless only one of them is mapped.
type block struct {
	addr      uint64
	size      uint64
	requested uint64
	order     uint64 // creation counter, the tie-break since 2.12
	gcBase    uint64 // the pool's find counter when the block became free
	prev      int32
	next      int32
	vrange    int32  // the expandable segment it belongs to, or 0
	owner     uint32 // the allocation's ID in a trace, or NoID
	waits     uint16 // pending events of other streams
	pool      uint16
	stream    uint16
	flags     uint8
}

const (
	flagAllocated uint8 = 1 << iota
	flagUnmapped        // expandable: addresses without memory
	flagUsed            // other streams use the block (pendingFrees.uses)
	flagHeld            // the recording contains the event that completes its free
)

// idle reports whether the block is neither in use nor pending. It may be unmapped.
func (b *block) idle() bool { return b.flags&(flagAllocated|flagUsed) == 0 && b.waits == 0 }

func (b *block) split() bool { return b.prev|b.next != 0 }

func (b *block) mapped() bool { return b.flags&flagUnmapped == 0 }

// arena holds the blocks. Slot 0 stays empty.
type arena struct {
	blocks []block
	spare  []int32
}

func (m *arena) take() int32 {
	if n := len(m.spare); n > 0 {
		i := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return i
	}
	m.blocks = append(m.blocks, block{})
	return int32(len(m.blocks) - 1)
}

func (m *arena) drop(i int32) {
	m.blocks[i] = block{}
	m.spare = append(m.spare, i)
}

// newBlock adds a block for a pool and stream and returns its index. It may move the arena, which invalidates earlier
// pointers to blocks.
func (a *Allocator) newBlock(pool, stream uint16, addr, size uint64) int32 {
	i := a.take()
	a.blocks[i] = block{
		addr: addr, size: size, order: a.created,
		pool: pool, stream: stream, owner: NoID,
	}
	a.created++
	return i
}

// linkBefore inserts block i between b and the block before b.
func (a *Allocator) linkBefore(i, b int32) {
	prev := a.blocks[b].prev
	a.blocks[i].prev, a.blocks[i].next = prev, b
	a.blocks[b].prev = i
	if prev != 0 {
		a.blocks[prev].next = i
	}
}

// linkAfter inserts block i between b and the block after b.
func (a *Allocator) linkAfter(i, b int32) {
	next := a.blocks[b].next
	a.blocks[i].prev, a.blocks[i].next = b, next
	a.blocks[b].next = i
	if next != 0 {
		a.blocks[next].prev = i
	}
}

// merge merges the neighbor src into dst and returns how many bytes dst gained. It returns 0 if the neighbor is
// in use or pending, or if only one of the two is mapped.
func (a *Allocator) merge(dst, src int32) uint64 {
	if src == 0 {
		return 0
	}
	d, s := &a.blocks[dst], &a.blocks[src]
	if !s.idle() || (d.flags^s.flags)&flagUnmapped != 0 {
		return 0
	}
	if s.mapped() {
		a.eraseFree(src)
	} else {
		a.eraseUnmapped(src)
	}
	if d.prev == src {
		d.addr, d.prev = s.addr, s.prev
		if d.prev != 0 {
			a.blocks[d.prev].next = dst
		}
	} else {
		d.next = s.next
		if d.next != 0 {
			a.blocks[d.next].prev = dst
		}
	}
	gained := s.size
	d.size += gained
	a.drop(src)
	return gained
}
