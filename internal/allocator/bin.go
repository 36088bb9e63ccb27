// SPDX-License-Identifier: Apache-2.0

package allocator

// bin is a sorted sequence of free blocks of about one size, cut into chunks of
// at most chunkCap entries. Nearly always that is one chunk of one or two
// entries. The cutting is for the program that leaves a hundred thousand holes
// of the same size: an insertion moves at most a chunk.
type bin struct {
	chunks [][]entry // only a sole chunk may be empty: it keeps its storage
}

const chunkCap = 64

// binCursor is a place in a bin.
type binCursor struct{ chunk, place int32 }

func (b *bin) at(c binCursor) *entry { return &b.chunks[c.chunk][c.place] }

// seek returns the first place whose entry is not less than key; false if there is none.
func (b *bin) seek(key *entry) (binCursor, bool) {
	chunk := b.chunkFor(key)
	if chunk == len(b.chunks) {
		return binCursor{}, false
	}
	c := b.chunks[chunk]
	i := position(c, key)
	return binCursor{int32(chunk), int32(i)}, i < len(c)
}

// chunkFor is the first chunk that ends at or after key.
func (b *bin) chunkFor(key *entry) int {
	lo, hi := 0, len(b.chunks)
	if hi == 1 {
		return 0
	}
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c := b.chunks[mid]; c[len(c)-1].less(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// position is the place of key in one chunk.
func position(c []entry, key *entry) int {
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

func (b *bin) next(c binCursor) (binCursor, bool) {
	if int(c.place)+1 < len(b.chunks[c.chunk]) {
		return binCursor{c.chunk, c.place + 1}, true
	}
	return binCursor{c.chunk + 1, 0}, int(c.chunk)+1 < len(b.chunks)
}

func (b *bin) prev(c binCursor) (binCursor, bool) {
	if c.place > 0 {
		return binCursor{c.chunk, c.place - 1}, true
	}
	if c.chunk == 0 {
		return c, false
	}
	return binCursor{c.chunk - 1, int32(len(b.chunks[c.chunk-1]) - 1)}, true
}

func (b *bin) last() binCursor {
	k := len(b.chunks) - 1
	return binCursor{int32(k), int32(len(b.chunks[k]) - 1)}
}

func (b *bin) insert(e *entry) {
	if len(b.chunks) == 0 {
		b.chunks = append(b.chunks, nil)
	}
	k := min(b.chunkFor(e), len(b.chunks)-1)
	i := position(b.chunks[k], e)
	if len(b.chunks[k]) == chunkCap {
		k, i = b.cut(k, i)
	}
	c := append(b.chunks[k], *e)
	copy(c[i+1:], c[i:])
	c[i] = *e
	b.chunks[k] = c
}

// cut halves the full chunk k and returns where its place i now is.
func (b *bin) cut(k, i int) (int, int) {
	const half = chunkCap / 2
	full := b.chunks[k]
	upper := append(make([]entry, 0, chunkCap), full[half:]...)
	b.chunks = append(b.chunks, nil)
	copy(b.chunks[k+2:], b.chunks[k+1:])
	b.chunks[k], b.chunks[k+1] = full[:half], upper
	if i > half {
		return k + 1, i - half
	}
	return k, i
}

// remove takes the entry at c out and says whether the bin holds others.
func (b *bin) remove(c binCursor) bool {
	chunk := b.chunks[c.chunk]
	copy(chunk[c.place:], chunk[c.place+1:])
	chunk = chunk[:len(chunk)-1]
	b.chunks[c.chunk] = chunk
	if len(chunk) > 0 {
		return true
	}
	if len(b.chunks) == 1 {
		return false
	}
	b.chunks = append(b.chunks[:c.chunk], b.chunks[c.chunk+1:]...)
	return true
}

func (b *bin) appendBlocks(to []int32) []int32 {
	for _, c := range b.chunks {
		for i := range c {
			to = append(to, c[i].block)
		}
	}
	return to
}
