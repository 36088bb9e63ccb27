// SPDX-License-Identifier: Apache-2.0

package allocator

// A free set answers one question, "the smallest block that is big enough, the
// lowest of those", some ten million times a second, and changes as often.
//
// It is a sorted sequence cut into chunks of at most chunkCap entries: a search
// picks the chunk by its last entry and the place by halving, and an insertion
// moves at most a chunk's worth of memory. Training steps keep some tens to
// some hundreds of free blocks, which is one to a few chunks, all of it in the
// first-level cache; and because a full chunk is cut in two, the same structure
// carries a hundred thousand blocks without a cliff. Balanced trees and size
// buckets with bitmaps were considered: the first chase pointers, the second
// need a second order inside each bucket.

// chunkCap is the best of 32, 64, 128 and 256 on recorded training steps.
const chunkCap = 64

// entry is a free block under its key: size first, then the tie.
type entry struct {
	size, tie uint64
	block     int32
}

func (e entry) less(f entry) bool {
	return e.size < f.size || e.size == f.size && e.tie < f.tie
}

type freeSet struct {
	chunks [][]entry // none is empty
	spare  []entry   // the storage of a chunk that ran empty
}

// cursor is a place in a free set; chunk == len(chunks) is the end.
type cursor struct{ chunk, at int }

// seek returns the first place whose entry is not less than key.
func (s *freeSet) seek(key entry) cursor {
	lo, hi := 0, len(s.chunks)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c := s.chunks[mid]; c[len(c)-1].less(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(s.chunks) {
		return cursor{lo, 0}
	}
	return cursor{lo, position(s.chunks[lo], key)}
}

// position is the place of key in one chunk.
func position(c []entry, key entry) int {
	lo, hi := 0, len(c)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c[mid].less(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (s *freeSet) end(c cursor) bool { return c.chunk >= len(s.chunks) }

func (s *freeSet) entry(c cursor) entry { return s.chunks[c.chunk][c.at] }

func (s *freeSet) next(c cursor) cursor {
	if c.at+1 < len(s.chunks[c.chunk]) {
		return cursor{c.chunk, c.at + 1}
	}
	return cursor{c.chunk + 1, 0}
}

// prev steps back; false at the very first entry.
func (s *freeSet) prev(c cursor) (cursor, bool) {
	if c.at > 0 {
		return cursor{c.chunk, c.at - 1}, true
	}
	if c.chunk == 0 {
		return c, false
	}
	return cursor{c.chunk - 1, len(s.chunks[c.chunk-1]) - 1}, true
}

func (s *freeSet) insert(e entry) {
	if len(s.chunks) == 0 {
		s.chunks = append(s.chunks, append(s.fresh(), e))
		return
	}
	c := s.seek(e)
	if s.end(c) {
		c.chunk--
		c.at = len(s.chunks[c.chunk])
	}
	if len(s.chunks[c.chunk]) == chunkCap {
		c = s.cut(c)
	}
	chunk := s.chunks[c.chunk]
	chunk = chunk[:len(chunk)+1]
	copy(chunk[c.at+1:], chunk[c.at:])
	chunk[c.at] = e
	s.chunks[c.chunk] = chunk
}

// cut halves a full chunk and returns where c now is.
func (s *freeSet) cut(c cursor) cursor {
	const half = chunkCap / 2
	full := s.chunks[c.chunk]
	upper := append(s.fresh(), full[half:]...)
	s.chunks = append(s.chunks, nil)
	copy(s.chunks[c.chunk+2:], s.chunks[c.chunk+1:])
	s.chunks[c.chunk], s.chunks[c.chunk+1] = full[:half], upper
	if c.at > half {
		return cursor{c.chunk + 1, c.at - half}
	}
	return c
}

func (s *freeSet) fresh() []entry {
	if c := s.spare; c != nil {
		s.spare = nil
		return c[:0]
	}
	return make([]entry, 0, chunkCap)
}

func (s *freeSet) remove(c cursor) {
	chunk := s.chunks[c.chunk]
	copy(chunk[c.at:], chunk[c.at+1:])
	chunk = chunk[:len(chunk)-1]
	s.chunks[c.chunk] = chunk
	if len(chunk) == 0 {
		s.spare = chunk
		s.chunks = append(s.chunks[:c.chunk], s.chunks[c.chunk+1:]...)
	}
}

// erase removes the entry of e's block. Two segments of a replayed recording
// may lie at one address, so equal keys are told apart by the block.
func (s *freeSet) erase(e entry) {
	c := s.seek(e)
	for !s.end(c) && s.entry(c).block != e.block {
		c = s.next(c)
	}
	if !s.end(c) {
		s.remove(c)
	}
}

func (s *freeSet) len() int {
	n := 0
	for _, c := range s.chunks {
		n += len(c)
	}
	return n
}
