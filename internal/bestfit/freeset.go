// SPDX-License-Identifier: Apache-2.0

package bestfit

import "math/bits"

// The free blocks of one pool and stream, in bins by size under a bitmap: each
// multiple of 512 bytes up to 2 MiB has a bin of its own, above that each
// doubling has 64. A training step leaves one or two blocks in a bin, sorted.
const (
	fineBins   = smallBuffer / quantum
	fineLog    = 21
	coarseBits = 6
	binWords   = (fineBins + (64-fineLog)<<coarseBits) / 64
	binCount   = binWords * 64
)

// entry is a free block under its key.
type entry struct {
	size, tie uint64
	block     int32
}

func (e *entry) less(size, tie uint64) bool {
	return e.size < size || e.size == size && e.tie < tie
}

type freeSet struct {
	occupied [binWords]uint64
	words    [(binWords + 63) / 64]uint64 // which words of occupied are not zero
	bins     [binCount]bin
}

func binOf(size uint64) int {
	if size < fineBins*quantum {
		return int(size / quantum)
	}
	log := bits.Len64(size) - 1
	within := int(size>>(log-coarseBits)) & (1<<coarseBits - 1)
	return fineBins + (log-fineLog)<<coarseBits + within
}

// seek is the bin and the place of the smallest block of at least size bytes,
// whose own bin is known; binCount is none.
func (s *freeSet) seek(size uint64, i int) (int, place) {
	if s.occupied[i/64]&(1<<(i%64)) != 0 {
		if i < fineBins {
			return i, place{}
		}
		if p, ok := s.bins[i].position(size, 0); ok {
			return i, p
		}
	}
	return s.after(i), place{}
}

// after is the first occupied bin past i, or binCount.
func (s *freeSet) after(i int) int {
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

func (s *freeSet) insert(e entry) {
	i := binOf(e.size)
	s.bins[i].insert(e)
	s.occupied[i/64] |= 1 << (i % 64)
	s.words[i/64/64] |= 1 << (i / 64 % 64)
}

func (s *freeSet) remove(size, tie uint64) {
	i := binOf(size)
	p, _ := s.bins[i].position(size, tie)
	s.removeAt(i, p)
}

func (s *freeSet) removeAt(i int, p place) {
	b := &s.bins[i]
	if b.remove(p); !b.empty() {
		return
	}
	w := i / 64
	if s.occupied[w] &^= 1 << (i % 64); s.occupied[w] == 0 {
		s.words[w/64] &^= 1 << (w % 64)
	}
}
