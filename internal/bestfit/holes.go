// SPDX-License-Identifier: Apache-2.0

package bestfit

import "math/bits"

// hole is a free block as one word: its tie-break in the upper bits, its index in the lower. Among blocks of one
// size, the hole with the lowest word is used.
type hole uint64

// blockBits is the number of bits for the block's index. The other 40 are enough for an address in quanta on today's
// cards (2⁴⁹ bytes), and for the number of blocks ever created.
const blockBits = 24

// MaxAllocations limits the number of allocations, including those before the first event: each creates at most two
// blocks, a segment and its remainder.
const MaxAllocations = 1 << (blockBits - 2)

func holeOf(i int32, tie uint64) hole { return hole(tie<<blockBits | uint64(i)) }

func (x hole) block() int32 { return int32(x & (1<<blockBits - 1)) }

// Up to 2 MiB, each multiple of the quantum has its own bin, so that a bin's holes are sorted by word alone.
// Above, each doubling has 64 bins, and holes are sorted by size first, which is looked up in the block.
const (
	fineLog    = 21
	fineBins   = 1 << fineLog / quantum
	coarseBits = 6
	binWords   = (fineBins + (64-fineLog)<<coarseBits) / 64
	noBin      = binWords * 64
)

// holes are the free blocks of one pool and stream, in bins under a bitmap.
//
// Usually a bin has one hole, which is stored in a separate array; others of its size are in the bin. The newest
// block is kept outside the bins: the remainder of a split block, or the result of a merge, is usually the next one
// to be used.
type holes struct {
	blocks   *[]block
	held     hole // 0 means none
	heldSize uint64

	occupied [binWords]uint64
	words    [(binWords + 63) / 64]uint64 // which words of occupied are nonzero
	crowded  [binWords]uint64             // which bins have more than one hole
	first    [noBin]hole
	rest     [binWords]*[64]bin // allocated on first use
}

// binOf returns the bin that a size belongs to.
func binOf(size uint64) uint32 {
	if size < fineBins*quantum {
		return uint32(size / quantum)
	}
	log := bits.Len64(size) - 1
	within := uint32(size>>(log-coarseBits)) & (1<<coarseBits - 1)
	return fineBins + uint32(log-fineLog)<<coarseBits + within
}

func (h *holes) size(x hole) uint64 { return (*h.blocks)[x.block()].size }

func (h *holes) isCrowded(i uint32) bool { return h.crowded[i/64]>>(i%64)&1 != 0 }

func (h *holes) bin(i uint32) *bin { return &h.rest[i/64][i%64] }

// place is the position of a hole: first in its bin, or a spot among the other holes.
type place struct {
	bin   uint32
	first bool
	spot
}

func (h *holes) at(p place) hole {
	if p.first {
		return h.first[p.bin]
	}
	return h.bin(p.bin).at(p.spot)
}

// best returns the size and the place of the block that a request gets; 0 if there is none. held means that it is the
// block kept outside the bins.
func (h *holes) best(r *Request) (size uint64, at place, held bool) {
	at = h.seek(r)
	switch {
	case at.bin < fineBins:
		size = uint64(at.bin) * quantum
	case at.bin < noBin:
		size = h.size(h.at(at))
	}
	if h.held == 0 || h.heldSize < r.size {
		return size, at, false
	}
	if size == 0 || h.heldSize < size || h.heldSize == size && h.held < h.at(at) {
		return h.heldSize, at, true
	}
	return size, at, false
}

// seek returns the place of the first hole in the bins that is large enough.
func (h *holes) seek(r *Request) place {
	i := r.bin
	if h.occupied[i/64]>>(i%64)&1 != 0 {
		if i < fineBins || h.size(h.first[i]) >= r.size {
			return place{bin: i, first: true}
		}
		if h.isCrowded(i) {
			if s, ok := h.seekIn(h.bin(i), r.size); ok {
				return place{bin: i, spot: s}
			}
		}
	}
	return place{bin: h.binAfter(i), first: true}
}

// binAfter returns the first occupied bin after i, or noBin.
func (h *holes) binAfter(i uint32) uint32 {
	w := i / 64
	if rest := h.occupied[w] >> (i % 64) >> 1; rest != 0 {
		return i + 1 + uint32(bits.TrailingZeros64(rest))
	}
	k := w / 64
	mask := h.words[k] & (^uint64(0) << (w % 64) << 1)
	for mask == 0 {
		if k++; int(k) == len(h.words) {
			return noBin
		}
		mask = h.words[k]
	}
	w = k*64 + uint32(bits.TrailingZeros64(mask))
	return w*64 + uint32(bits.TrailingZeros64(h.occupied[w]))
}

// take removes the block that a request gets and returns it, or 0.
func (h *holes) take(r *Request) int32 {
	size, at, held := h.best(r)
	if size == 0 {
		return 0
	}
	if held {
		i := h.held.block()
		h.held = 0
		return i
	}
	i := h.at(at).block()
	h.remove(at)
	return i
}

// insert adds a block. It becomes the one kept outside the bins; the previous one goes to its bin.
func (h *holes) insert(x hole, size uint64) {
	if h.held != 0 {
		h.put(h.held, h.heldSize)
	}
	h.held, h.heldSize = x, size
}

// put adds a block to its bin.
func (h *holes) put(x hole, size uint64) {
	i := binOf(size)
	w, bit := i/64, uint64(1)<<(i%64)
	if h.occupied[w]&bit != 0 {
		h.crowd(i, key{x, size, i < fineBins})
		return
	}
	h.first[i] = x
	h.occupied[w] |= bit
	h.words[w/64] |= 1 << (w % 64)
}

// crowd adds a block to a bin that already has one.
func (h *holes) crowd(i uint32, k key) {
	if !h.before(h.first[i], k) {
		k.hole, h.first[i] = h.first[i], k.hole
		if !k.fine {
			k.size = h.size(k.hole)
		}
	}
	page := h.rest[i/64]
	if page == nil {
		page = new([64]bin)
		h.rest[i/64] = page
	}
	h.insertIn(&page[i%64], k)
	h.crowded[i/64] |= 1 << (i % 64)
}

// erase removes a block, which must be present.
func (h *holes) erase(x hole, size uint64) {
	if x == h.held {
		h.held = 0
		return
	}
	i := binOf(size)
	if x == h.first[i] {
		h.remove(place{bin: i, first: true})
		return
	}
	h.remove(place{bin: i, spot: h.find(h.bin(i), key{x, size, i < fineBins})})
}

// remove removes the hole at a place.
func (h *holes) remove(p place) {
	w, bit := p.bin/64, uint64(1)<<(p.bin%64)
	if h.crowded[w]&bit != 0 {
		b := h.bin(p.bin)
		if p.first {
			h.first[p.bin] = b.at(spot{})
		}
		if !b.remove(p.spot) {
			h.crowded[w] &^= bit
		}
		return
	}
	h.first[p.bin] = 0
	if h.occupied[w] &^= bit; h.occupied[w] == 0 {
		h.words[w/64] &^= 1 << (w % 64)
	}
}
