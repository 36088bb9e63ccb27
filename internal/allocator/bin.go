// SPDX-License-Identifier: Apache-2.0

package allocator

// bin is a sorted sequence of free blocks of about one size. Nearly always it
// holds one or two, all in first, which has room for them in the bin itself. For
// the program that leaves a hundred thousand holes of the same size the sequence
// goes on in more chunks, each of at most chunkCap entries, so that an insertion
// never moves more than one.
type bin struct {
	first []entry
	more  [][]entry // none is empty
	few   [2]entry
}

const chunkCap = 64

// binCursor is a place in a bin; chunk 0 is first.
type binCursor struct{ chunk, place int32 }

func (b *bin) chunk(k int) *[]entry {
	if k == 0 {
		return &b.first
	}
	return &b.more[k-1]
}

func (b *bin) at(c binCursor) *entry { return &(*b.chunk(int(c.chunk)))[c.place] }

// seek returns the first place whose entry is not less than key; false if there is none.
func (b *bin) seek(key *entry) (binCursor, bool) {
	k := b.chunkFor(key)
	c := *b.chunk(k)
	i := position(c, key)
	return binCursor{int32(k), int32(i)}, i < len(c)
}

// chunkFor is the first chunk that ends at or after key, or the last one.
func (b *bin) chunkFor(key *entry) int {
	lo, hi := 0, len(b.more)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c := *b.chunk(mid); len(c) == 0 || c[len(c)-1].less(key) {
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
	if int(c.place)+1 < len(*b.chunk(int(c.chunk))) {
		return binCursor{c.chunk, c.place + 1}, true
	}
	return binCursor{c.chunk + 1, 0}, int(c.chunk) < len(b.more)
}

func (b *bin) prev(c binCursor) (binCursor, bool) {
	if c.place > 0 {
		return binCursor{c.chunk, c.place - 1}, true
	}
	if c.chunk == 0 || c.chunk == 1 && len(b.first) == 0 {
		return c, false
	}
	return binCursor{c.chunk - 1, int32(len(*b.chunk(int(c.chunk - 1))) - 1)}, true
}

// head is the place of the first entry.
func (b *bin) head() binCursor {
	if len(b.first) == 0 {
		return binCursor{1, 0}
	}
	return binCursor{}
}

func (b *bin) last() binCursor {
	k := len(b.more)
	return binCursor{int32(k), int32(len(*b.chunk(k)) - 1)}
}

func (b *bin) insert(e *entry) {
	if len(b.more) > 0 || len(b.first) == chunkCap {
		b.insertAmongMany(e)
		return
	}
	c := append(b.first, *e)
	i := len(c) - 1
	for ; i > 0 && e.less(&c[i-1]); i-- {
		c[i] = c[i-1]
	}
	c[i] = *e
	b.first = c
}

func (b *bin) insertAmongMany(e *entry) {
	k := b.chunkFor(e)
	i := position(*b.chunk(k), e)
	if len(*b.chunk(k)) == chunkCap {
		k, i = b.cut(k, i)
	}
	c := append(*b.chunk(k), *e)
	copy(c[i+1:], c[i:])
	c[i] = *e
	*b.chunk(k) = c
}

// cut halves the full chunk k and returns where its place i now is.
func (b *bin) cut(k, i int) (int, int) {
	const half = chunkCap / 2
	full := *b.chunk(k)
	upper := append(make([]entry, 0, chunkCap), full[half:]...)
	b.more = append(b.more, nil)
	copy(b.more[k+1:], b.more[k:])
	b.more[k] = upper
	*b.chunk(k) = full[:half]
	if i > half {
		return k + 1, i - half
	}
	return k, i
}

// find is the place of a block among few.
func (b *bin) find(block int32) (binCursor, bool) {
	if len(b.more) == 0 {
		for i := range b.first {
			if b.first[i].block == block {
				return binCursor{0, int32(i)}, true
			}
		}
	}
	return binCursor{}, false
}

// remove takes the entry at c out and says whether the bin holds others.
func (b *bin) remove(c binCursor) bool {
	p := b.chunk(int(c.chunk))
	chunk := *p
	end := len(chunk) - 1
	for j := int(c.place); j < end; j++ {
		chunk[j] = chunk[j+1]
	}
	*p = chunk[:end]
	if end == 0 && c.chunk > 0 {
		b.more = append(b.more[:c.chunk-1], b.more[c.chunk:]...)
	}
	return len(b.first) > 0 || len(b.more) > 0
}

func (b *bin) appendBlocks(to []int32) []int32 {
	for k := 0; k <= len(b.more); k++ {
		for _, e := range *b.chunk(k) {
			to = append(to, e.block)
		}
	}
	return to
}
