// SPDX-License-Identifier: Apache-2.0

package bestfit

// bin is a sorted sequence of free blocks of about one size. Nearly always it
// holds one or two. For the step that leaves a hundred thousand holes of one size
// it goes on in more chunks, so that an insertion never moves more than one; and
// as such holes come and go beside each other, the chunk used last is mostly the
// one to use next.
type bin struct {
	chunks [][]entry // none is empty but the only one
	last   int       // the chunk used last
}

const chunkCap = 64

// place is where an entry is in a bin.
type place struct{ chunk, at int }

func (b *bin) at(p place) *entry { return &b.chunks[p.chunk][p.at] }

// position is the first place whose entry is not less than the key; false is
// the end.
func (b *bin) position(size, tie uint64) (place, bool) {
	k := b.chunkFor(size, tie)
	c := b.chunks[k]
	at := within(c, size, tie)
	return place{k, at}, at < len(c)
}

// chunkFor is the first chunk that ends at or after the key, or the last one.
func (b *bin) chunkFor(size, tie uint64) int {
	if len(b.chunks) == 1 {
		return 0
	}
	lo, hi := 0, len(b.chunks)-1
	if k := b.last; k <= hi {
		if b.ends(k, size, tie) {
			lo = k + 1
		} else if hi = k; k > 0 && b.ends(k-1, size, tie) {
			lo = k
		}
	}
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); b.ends(mid, size, tie) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	b.last = min(lo, len(b.chunks)-1)
	return b.last
}

// ends says that all of chunk k is less than the key.
func (b *bin) ends(k int, size, tie uint64) bool {
	c := b.chunks[k]
	return c[len(c)-1].less(size, tie)
}

// within is the place of a key in one chunk.
func within(c []entry, size, tie uint64) int {
	lo, hi := 0, len(c)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); c[mid].less(size, tie) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (b *bin) insert(e entry) {
	if len(b.chunks) == 0 {
		b.chunks = [][]entry{make([]entry, 0, 2)}
	}
	k := b.chunkFor(e.size, e.tie)
	if len(b.chunks[k]) == chunkCap {
		b.cut(k)
		if b.ends(k, e.size, e.tie) {
			k++
		}
	}
	c := b.chunks[k]
	at := within(c, e.size, e.tie)
	if c = append(c, e); at < len(c)-1 {
		copy(c[at+1:], c[at:])
		c[at] = e
	}
	b.chunks[k] = c
}

// cut halves the full chunk k.
func (b *bin) cut(k int) {
	const half = chunkCap / 2
	full := b.chunks[k]
	b.chunks = append(b.chunks, nil)
	copy(b.chunks[k+2:], b.chunks[k+1:])
	b.chunks[k+1] = append(make([]entry, 0, chunkCap), full[half:]...)
	b.chunks[k] = full[:half]
}

func (b *bin) remove(p place) {
	c := b.chunks[p.chunk]
	end := len(c) - 1
	if p.at < end {
		copy(c[p.at:], c[p.at+1:])
	}
	b.chunks[p.chunk] = c[:end]
	if end == 0 && len(b.chunks) > 1 {
		b.chunks = append(b.chunks[:p.chunk], b.chunks[p.chunk+1:]...)
	}
}

// empty says that nothing is left; the room of the last chunk is.
func (b *bin) empty() bool { return len(b.chunks) == 0 || len(b.chunks[0]) == 0 }
