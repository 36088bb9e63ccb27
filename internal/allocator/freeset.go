// SPDX-License-Identifier: Apache-2.0

package allocator

import "math/bits"

// A free set answers one question, "the smallest block that is big enough, the
// lowest of those", some ten million times a second, and changes as often.
//
// It is a row of bins by size with a bitmap over them. Up to 2 MiB, where
// nearly all requests fall, each multiple of 512 bytes has a bin of its own;
// above, each doubling has 64. A bin keeps its blocks sorted (bin.go), so the
// bins one after the other are the whole set in order.
//
//	size → bin ──occupied?──► its first fitting block
//	          └─► next set bit in the bitmap ─► that bin's first block
//
// A training step keeps some tens to some hundreds of free blocks of not many
// sizes, so most bins hold one or two and a search is a bit scan. One sorted
// sequence for all sizes, which this replaced, spent most of a replay halving
// and moving; a tree would trade the moving for branches that cannot be foreseen.
//
// Bins come in pages of 16, made when first used: an empty set is some four
// kilobytes.

const (
	fineBins   = smallBuffer / minBlock // bins of 512 bytes each
	fineLog    = 21                     // log2 of where they end
	coarseBits = 6                      // log2 of the bins of one doubling
	binWords   = (fineBins + (64-fineLog)<<coarseBits) / 64
	binCount   = binWords * 64
	pageBins   = 16
)

// entry is a free block under its key: size first, then the tie.
type entry struct {
	size, tie uint64
	block     int32
}

func (e *entry) less(f *entry) bool {
	return e.size < f.size || e.size == f.size && e.tie < f.tie
}

type freeSet struct {
	occupied [binWords]uint64
	words    [(binWords + 63) / 64]uint64 // which words of occupied are not zero
	pages    [binCount / pageBins]*[pageBins]bin
}

// cursor is a place in a free set; bin == binCount is the end.
type cursor struct {
	bin int
	binCursor
}

var endCursor = cursor{bin: binCount}

func (c cursor) end() bool { return c.bin == binCount }

func binOf(size uint64) int {
	if size < fineBins*minBlock {
		return int(size / minBlock)
	}
	log := bits.Len64(size) - 1
	within := int(size>>(log-coarseBits)) & (1<<coarseBits - 1)
	return fineBins + (log-fineLog)<<coarseBits + within
}

func (s *freeSet) bin(i int) *bin { return &s.pages[i/pageBins][i%pageBins] }

func (s *freeSet) holds(i int) bool { return s.occupied[i/64]&(1<<(i%64)) != 0 }

// seek returns the first place whose entry is not less than key.
func (s *freeSet) seek(key *entry) cursor {
	i := binOf(key.size)
	if s.holds(i) {
		if c, ok := s.bin(i).seek(key); ok {
			return cursor{i, c}
		}
	}
	return s.after(i)
}

// seekSize returns the first place with at least size bytes. A fine bin of a
// whole number of quanta needs no look inside.
func (s *freeSet) seekSize(size uint64) cursor {
	if i := binOf(size); i < fineBins && size%minBlock == 0 {
		if s.holds(i) {
			return cursor{i, s.bin(i).head()}
		}
		return s.after(i)
	}
	return s.seek(&entry{size: size})
}

// after is the first place past bin i.
func (s *freeSet) after(i int) cursor {
	if i = s.binAfter(i); i == binCount {
		return endCursor
	}
	return cursor{i, s.bin(i).head()}
}

// binAfter is the first occupied bin past i, or binCount.
func (s *freeSet) binAfter(i int) int {
	w := i / 64
	if rest := s.occupied[w] >> (i % 64) >> 1; rest != 0 {
		return i + 1 + bits.TrailingZeros64(rest)
	}
	for k := w / 64; k < len(s.words); k++ {
		mask := s.words[k]
		if k == w/64 {
			mask &= ^uint64(0) << (w % 64) << 1
		}
		if mask != 0 {
			w = k*64 + bits.TrailingZeros64(mask)
			return w*64 + bits.TrailingZeros64(s.occupied[w])
		}
	}
	return binCount
}

// binBefore is the last occupied bin before i, or -1.
func (s *freeSet) binBefore(i int) int {
	for i--; i >= 0; i-- {
		if s.occupied[i/64] == 0 {
			i -= i % 64
			continue
		}
		if s.occupied[i/64]&(1<<(i%64)) != 0 {
			return i
		}
	}
	return -1
}

func (s *freeSet) at(c cursor) *entry { return s.bin(c.bin).at(c.binCursor) }

func (s *freeSet) next(c cursor) cursor {
	if n, ok := s.bin(c.bin).next(c.binCursor); ok {
		return cursor{c.bin, n}
	}
	return s.after(c.bin)
}

// prev steps back, also from the end; false at the very first entry.
func (s *freeSet) prev(c cursor) (cursor, bool) {
	if !c.end() {
		if p, ok := s.bin(c.bin).prev(c.binCursor); ok {
			return cursor{c.bin, p}, true
		}
	}
	i := s.binBefore(c.bin)
	if i < 0 {
		return c, false
	}
	return cursor{i, s.bin(i).last()}, true
}

func (s *freeSet) insert(e *entry) {
	i := binOf(e.size)
	page := &s.pages[i/pageBins]
	if *page == nil {
		*page = newPage()
	}
	(*page)[i%pageBins].insert(e)
	w := i / 64
	s.occupied[w] |= 1 << (i % 64)
	s.words[w/64] |= 1 << (w % 64)
}

func newPage() *[pageBins]bin {
	page := new([pageBins]bin)
	for i := range page {
		page[i].first = page[i].few[:0]
	}
	return page
}

func (s *freeSet) remove(c cursor) {
	if s.bin(c.bin).remove(c.binCursor) {
		return
	}
	w := c.bin / 64
	if s.occupied[w] &^= 1 << (c.bin % 64); s.occupied[w] == 0 {
		s.words[w/64] &^= 1 << (w % 64)
	}
}

// erase removes the entry of e's block. Two segments of a replayed recording
// may lie at one address, so equal keys are told apart by the block.
func (s *freeSet) erase(e *entry) {
	if i := binOf(e.size); s.holds(i) {
		if c, ok := s.bin(i).find(e.block); ok {
			s.remove(cursor{i, c})
			return
		}
	}
	c := s.seek(e)
	for !c.end() && s.at(c).block != e.block {
		c = s.next(c)
	}
	if !c.end() {
		s.remove(c)
	}
}

// appendBlocks adds the set's blocks to a list, in order.
func (s *freeSet) appendBlocks(to []int32) []int32 {
	i := 0
	if !s.holds(i) {
		i = s.binAfter(i)
	}
	for ; i < binCount; i = s.binAfter(i) {
		to = s.bin(i).appendBlocks(to)
	}
	return to
}
