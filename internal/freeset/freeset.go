// SPDX-License-Identifier: Apache-2.0

// Package freeset keeps the free blocks of an allocator ordered by size.
//
// A free set answers one question, "which is the lowest of the smallest blocks that are big enough?", some ten
// million times per second, and changes as often.
//
// It is an array of bins by size with a bitmap over them. Up to 2 MiB, where nearly all requests fall,
// each multiple of 512 bytes has its own bin; above that, each doubling has 64. A bin keeps its blocks
// sorted (bin.go), so the bins in sequence are the whole set in order.
//
//	size → bin ──occupied?──► its first fitting block
//	          └─► next set bit in the bitmap ─► that bin's first block
//
// A training step has tens to hundreds of free blocks of few distinct sizes, so most bins have one or two and a
// search is a bit scan. The earlier design, one sorted sequence for all sizes, spent most of a replay in binary
// searches and moves. A tree would replace the moves with unpredictable branches.
//
// Bins are allocated in pages of 16 when first used. An empty set takes about four kilobytes.
package freeset

import "math/bits"

const (
	quantum    = 512
	fineBins   = 1 << fineLog / quantum // bins of one quantum each
	fineLog    = 21                     // log2 of the size at which the fine bins end
	coarseBits = 6                      // log2 of the number of bins for each doubling of the size
	binWords   = (fineBins + (64-fineLog)<<coarseBits) / 64
	binCount   = binWords * 64
	pageBins   = 16
)

// Entry is a free block with its key: size first, then the tie-break.
type Entry struct {
	Size, Tie uint64 // ordered by Size, then by Tie
	Block     int32  // the caller's index for the block
}

// Less reports whether e comes before f.
func (e *Entry) Less(f Entry) bool {
	return e.Size < f.Size || e.Size == f.Size && e.Tie < f.Tie
}

// Set is the free blocks of one pool and stream. The zero value is empty.
//
// The newest block is kept outside the bins: the remainder of a split block, or the result of a merge, is usually the
// next one to be used.
type Set struct {
	held    Entry
	holding bool

	occupied [binWords]uint64
	words    [(binWords + 63) / 64]uint64 // which words of occupied are nonzero
	pages    [binCount / pageBins]*[pageBins]bin
}

// Cursor is a position in a free set. It is valid until the set changes.
type Cursor struct {
	bin uint // or atEnd or atHeld
	place
}

const (
	atEnd  = binCount
	atHeld = binCount + 1
)

var endCursor = Cursor{bin: atEnd}

// End reports whether the cursor is past the last entry.
func (c Cursor) End() bool { return c.bin == atEnd }

// binOf returns the bin that a size belongs to.
func binOf(size uint64) uint {
	if size < fineBins*quantum {
		return uint(size / quantum)
	}
	log := uint(bits.Len64(size) - 1)
	within := uint(size>>(log-coarseBits)) & (1<<coarseBits - 1)
	return fineBins + (log-fineLog)<<coarseBits + within
}

func (s *Set) bin(i uint) *bin { return &s.pages[i/pageBins][i%pageBins] }

func (s *Set) holds(i uint) bool { return s.occupied[i/64]&(1<<(i%64)) != 0 }

// Seek returns the position of the first entry that is not less than key.
func (s *Set) Seek(key Entry) Cursor {
	s.Settle()
	i := binOf(key.Size)
	if s.holds(i) {
		if c, ok := s.bin(i).seek(key); ok {
			return Cursor{i, c}
		}
	}
	return s.after(i)
}

// SeekSize returns the position of the first entry with at least size bytes.
func (s *Set) SeekSize(size uint64) Cursor {
	c := s.seekBins(size)
	if s.holding && s.held.Size >= size && (c.End() || s.held.Less(*s.At(c))) {
		return Cursor{bin: atHeld}
	}
	return c
}

// seekBins is SeekSize without the block kept outside the bins. If the size is a whole number of quanta, a fine bin
// need not be searched.
func (s *Set) seekBins(size uint64) Cursor {
	i := binOf(size)
	if s.holds(i) {
		if i < fineBins && size%quantum == 0 {
			return Cursor{i, s.bin(i).head()}
		}
		if c, ok := s.bin(i).seek(Entry{Size: size}); ok {
			return Cursor{i, c}
		}
	}
	return s.after(i)
}

// after returns the first position after bin i.
func (s *Set) after(i uint) Cursor {
	if i = s.binAfter(i); i == binCount {
		return endCursor
	}
	return Cursor{i, s.bin(i).head()}
}

// binAfter returns the first occupied bin after i, or binCount.
func (s *Set) binAfter(i uint) uint {
	w := i / 64
	if rest := s.occupied[w] >> (i % 64) >> 1; rest != 0 {
		return i + 1 + uint(bits.TrailingZeros64(rest))
	}
	for k := w / 64; k < uint(len(s.words)); k++ {
		mask := s.words[k]
		if k == w/64 {
			mask &= ^uint64(0) << (w % 64) << 1
		}
		if mask != 0 {
			w = k*64 + uint(bits.TrailingZeros64(mask))
			return w*64 + uint(bits.TrailingZeros64(s.occupied[w]))
		}
	}
	return binCount
}

// binBefore returns the last occupied bin before i, and false if there is none.
func (s *Set) binBefore(i uint) (uint, bool) {
	for ; i > 0; i-- {
		if i%64 == 0 && s.occupied[i/64-1] == 0 {
			i -= 63
			continue
		}
		if s.holds(i - 1) {
			return i - 1, true
		}
	}
	return 0, false
}

// At returns the entry at a position. It is valid until the set changes.
func (s *Set) At(c Cursor) *Entry {
	if c.bin == atHeld {
		return &s.held
	}
	return s.bin(c.bin).at(c.place)
}

// Settle puts the block kept outside the bins into its bin. Call it before stepping with a Cursor.
func (s *Set) Settle() {
	if s.holding {
		s.holding = false
		s.put(s.held)
	}
}

// Next returns the position after c. The set must be settled.
func (s *Set) Next(c Cursor) Cursor {
	if n, ok := s.bin(c.bin).next(c.place); ok {
		return Cursor{c.bin, n}
	}
	return s.after(c.bin)
}

// Prev returns the position before c, which may be the end. The set must be settled. It returns false at the first
// entry.
func (s *Set) Prev(c Cursor) (Cursor, bool) {
	if !c.End() {
		if p, ok := s.bin(c.bin).prev(c.place); ok {
			return Cursor{c.bin, p}, true
		}
	}
	i, ok := s.binBefore(c.bin)
	if !ok {
		return c, false
	}
	return Cursor{i, s.bin(i).tail()}, true
}

// Insert adds a block.
func (s *Set) Insert(e Entry) {
	s.Settle()
	s.held, s.holding = e, true
}

// put adds a block to its bin.
func (s *Set) put(e Entry) {
	i := binOf(e.Size)
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

// Remove removes the entry at a position.
func (s *Set) Remove(c Cursor) {
	if c.bin == atHeld {
		s.holding = false
		return
	}
	if s.bin(c.bin).remove(c.place) {
		return
	}
	w := c.bin / 64
	if s.occupied[w] &^= 1 << (c.bin % 64); s.occupied[w] == 0 {
		s.words[w/64] &^= 1 << (w % 64)
	}
}

// Erase removes the entry for e's block. Two segments of a replayed recording may have the same address, so equal
// keys are distinguished by block.
func (s *Set) Erase(e Entry) {
	if s.holding && s.held.Block == e.Block {
		s.holding = false
		return
	}
	if i := binOf(e.Size); s.holds(i) {
		if c, ok := s.bin(i).find(e.Block); ok {
			s.Remove(Cursor{i, c})
			return
		}
	}
	c := s.Seek(e)
	for !c.End() && s.At(c).Block != e.Block {
		c = s.Next(c)
	}
	if !c.End() {
		s.Remove(c)
	}
}

// AppendBlocks appends the set's blocks to a list, in order.
func (s *Set) AppendBlocks(to []int32) []int32 {
	s.Settle()
	i := uint(0)
	if !s.holds(i) {
		i = s.binAfter(i)
	}
	for ; i < binCount; i = s.binAfter(i) {
		to = s.bin(i).appendBlocks(to)
	}
	return to
}
