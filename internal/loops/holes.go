// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"math/bits"
	"slices"
)

// hole is a free block: its position and segment.
type hole struct {
	addr uint64
	seg  int32
}

// holes contains the free blocks of one pool and CUDA stream, by size. Sizes that fit into a segment for small
// tensors have their own bins, which are indexed directly.
type holes struct {
	fine  [fineMost / fineBins]*[fineBins]bin // bins for sizes below fineMost, allocated on demand
	any   [fineMost / 64]uint64               // bitmap of sizes that have holes
	words [fineMost / 64 / 64]uint64          // bitmap of nonzero words of any
	sizes []uint64                            // larger sizes, sorted
	other []*bin
	idle  []*bin // empty bins for reuse
}

const (
	fineMost = largeBuffer/4096*4096 + 4096
	fineBins = 512
)

// bin contains the holes of one size. Holes of segments with a shared layout are found through the layout. For the
// holes of other segments it has a count and a heap ordered by address. The heap may contain holes that no longer
// exist, so the segment must be checked.
type bin struct {
	layouts []int32 // layouts with a hole of this size that have members
	own     int
	heap    []hole
}

func (b *bin) empty() bool { return b.own == 0 && len(b.layouts) == 0 }

// bin returns the bin of a size, creating it if necessary.
func (h *holes) bin(size uint64) *bin {
	if size < fineMost {
		bins := h.fine[size/fineBins]
		if bins == nil {
			bins = new([fineBins]bin)
			h.fine[size/fineBins] = bins
		}
		return &bins[size%fineBins]
	}
	i, ok := slices.BinarySearch(h.sizes, size)
	if !ok {
		h.sizes = slices.Insert(h.sizes, i, size)
		h.other = slices.Insert(h.other, i, h.newBin())
	}
	return h.other[i]
}

func (h *holes) newBin() *bin {
	n := len(h.idle)
	if n == 0 {
		return &bin{}
	}
	b := h.idle[n-1]
	h.idle = h.idle[:n-1]
	return b
}

// next returns the smallest size, at least the given one, that has holes, and its bin. The bin is nil if there is
// none.
func (h *holes) next(size uint64) (uint64, *bin) {
	if size < fineMost {
		if at, ok := h.nextFine(size); ok {
			return at, &h.fine[at/fineBins][at%fineBins]
		}
	}
	i, _ := slices.BinarySearch(h.sizes, size)
	if i == len(h.sizes) {
		return 0, nil
	}
	return h.sizes[i], h.other[i]
}

// nextFine is next for a size below fineMost.
func (h *holes) nextFine(size uint64) (uint64, bool) {
	w := size / 64
	if word := h.any[w] >> (size % 64); word != 0 {
		return size + uint64(bits.TrailingZeros64(word)), true
	}
	w++
	for k := w / 64; k < uint64(len(h.words)); k++ {
		words := h.words[k]
		if k == w/64 {
			words = words >> (w % 64) << (w % 64)
		}
		if words != 0 {
			w = k*64 + uint64(bits.TrailingZeros64(words))
			return w*64 + uint64(bits.TrailingZeros64(h.any[w])), true
		}
	}
	return 0, false
}

// filled marks a size as having holes.
func (h *holes) filled(size uint64) {
	if size < fineMost {
		h.any[size/64] |= 1 << (size % 64)
		h.words[size/64/64] |= 1 << (size / 64 % 64)
	}
}

// emptied unmarks a size if its bin has no holes left.
func (h *holes) emptied(size uint64, b *bin) {
	switch {
	case !b.empty():
	case size < fineMost:
		w := size / 64
		if h.any[w] &^= 1 << (size % 64); h.any[w] == 0 {
			h.words[w/64] &^= 1 << (w % 64)
		}
	default:
		i, _ := slices.BinarySearch(h.sizes, size)
		h.idle = append(h.idle, b)
		h.sizes, h.other = slices.Delete(h.sizes, i, i+1), slices.Delete(h.other, i, i+1)
	}
}

// add adds a hole in a segment with its own layout.
func (h *holes) add(size uint64, x hole) {
	b := h.bin(size)
	b.own++
	b.push(x)
	h.filled(size)
}

// drop removes one hole. If it was the last of its size, it also empties the heap.
func (h *holes) drop(size uint64) {
	b := h.bin(size)
	if b.own--; b.own == 0 {
		b.heap = b.heap[:0]
		h.emptied(size, b)
	}
}

// join adds a layout that now has members.
func (h *holes) join(size uint64, layout int32) {
	b := h.bin(size)
	b.layouts = append(b.layouts, layout)
	h.filled(size)
}

// part removes a layout that no longer has members.
func (h *holes) part(size uint64, layout int32) {
	b := h.bin(size)
	i := slices.Index(b.layouts, layout)
	b.layouts = slices.Delete(b.layouts, i, i+1)
	h.emptied(size, b)
}

func (b *bin) push(x hole) {
	b.heap = append(b.heap, x)
	h, i := b.heap, len(b.heap)-1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].addr <= x.addr {
			break
		}
		h[i], i = h[up], up
	}
	h[i] = x
}

func (b *bin) pop() hole {
	h, n := b.heap, len(b.heap)-1
	top, last := h[0], h[n]
	b.heap = h[:n]
	i := 0
	for 2*i+1 < n {
		down := 2*i + 1
		if down+1 < n && h[down+1].addr < h[down].addr {
			down++
		}
		if last.addr <= h[down].addr {
			break
		}
		h[i], i = h[down], down
	}
	if n > 0 {
		h[i] = last
	}
	return top
}

// seek returns the best fit: the smallest hole of a set that is large enough. Among several of that size, it
// returns the one with the lowest address.
func (p *Player) seek(set int32, size uint64) (got uint64, at hole, ok bool) {
	got, b := p.sets[set].next(size)
	if b == nil {
		return 0, at, false
	}
	if b.own > 0 {
		at, ok = p.ownHole(b, set, got)
	}
	for _, i := range b.layouts {
		l := &p.shared[i]
		high := l.members.highest()
		within, _ := l.hole(got)
		seg := p.slots[high]
		if addr := p.segs[seg].addr + within; !ok || addr < at.addr {
			at, ok = hole{addr, seg}, true
		}
	}
	return got, at, ok
}

// ownHole returns the lowest hole of a bin among segments with their own layout.
func (p *Player) ownHole(b *bin, set int32, size uint64) (hole, bool) {
	for len(b.heap) > 0 {
		if x := b.heap[0]; p.isHole(set, x, size) {
			return x, true
		}
		b.pop()
	}
	panic("loops: a counted hole does not exist")
}

// isHole reports whether there is a hole of this size at x.
func (p *Player) isHole(set int32, x hole, size uint64) bool {
	s := &p.segs[x.seg]
	if s.set != set || s.own == none || s.apart || x.addr < s.addr {
		return false
	}
	at, marks := x.addr-s.addr, p.owns[s.own].marks
	j := find(marks, at)
	return marks[j] == freeMark(at) && marks[j+1].at()-at == size
}
