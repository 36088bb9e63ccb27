// SPDX-License-Identifier: Apache-2.0

package freeset

// bin is a sorted sequence of free blocks of about the same size. Nearly always it has one or two blocks, which are
// in first, stored in the bin itself. For a program that leaves a hundred thousand holes of the same size, the
// sequence continues in chunks of at most chunkCap entries, so an insertion never moves more than one chunk. Such
// holes come and go next to each other, so the most recently used chunk is usually the next one used.
type bin struct {
	first []Entry
	more  [][]Entry // no chunk is empty
	few   [2]Entry
	last  int // the most recently used chunk
}

const chunkCap = 64

// place is the position of an entry in a bin; chunk 0 is first.
type place struct{ chunk, at int32 }

func (b *bin) chunk(k int) *[]Entry {
	if k == 0 {
		return &b.first
	}
	return &b.more[k-1]
}

func (b *bin) at(p place) *Entry {
	if p.chunk == 0 {
		return &b.first[p.at]
	}
	return &b.more[p.chunk-1][p.at]
}

// seek returns the position of the first entry that is not less than key, and false if there is none.
func (b *bin) seek(key Entry) (place, bool) {
	k := b.chunkFor(key)
	c := *b.chunk(k)
	i := position(c, key)
	return place{int32(k), int32(i)}, i < len(c)
}

// chunkFor returns the first chunk that ends at or after key, or the last one.
func (b *bin) chunkFor(key Entry) int {
	if len(b.more) == 0 {
		return 0
	}
	lo, hi := 0, len(b.more)
	if k := b.last; k <= hi {
		if b.before(k, key) {
			lo = min(k+1, hi)
		} else if hi = k; k > 0 && b.before(k-1, key) {
			lo = k
		}
	}
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); b.before(mid, key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	b.last = lo
	return lo
}

// before reports whether all of chunk k is less than key.
func (b *bin) before(k int, key Entry) bool {
	c := *b.chunk(k)
	return len(c) == 0 || c[len(c)-1].Less(key)
}

// position returns the position of key in one chunk.
func position(c []Entry, key Entry) int {
	lo, hi := 0, len(c)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c[mid].Less(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (b *bin) next(p place) (place, bool) {
	if int(p.at)+1 < len(*b.chunk(int(p.chunk))) {
		return place{p.chunk, p.at + 1}, true
	}
	return place{p.chunk + 1, 0}, int(p.chunk) < len(b.more)
}

func (b *bin) prev(p place) (place, bool) {
	if p.at > 0 {
		return place{p.chunk, p.at - 1}, true
	}
	if p.chunk == 0 || p.chunk == 1 && len(b.first) == 0 {
		return p, false
	}
	return place{p.chunk - 1, int32(len(*b.chunk(int(p.chunk - 1))) - 1)}, true
}

// head returns the position of the first entry.
func (b *bin) head() place {
	if len(b.first) == 0 {
		return place{1, 0}
	}
	return place{}
}

func (b *bin) tail() place {
	k := len(b.more)
	return place{int32(k), int32(len(*b.chunk(k)) - 1)}
}

func (b *bin) insert(e Entry) {
	if len(b.more) > 0 || len(b.first) == chunkCap {
		b.insertAmongMany(e)
		return
	}
	c := append(b.first, e)
	i := len(c) - 1
	for ; i > 0 && e.Less(c[i-1]); i-- {
		c[i] = c[i-1]
	}
	c[i] = e
	b.first = c
}

func (b *bin) insertAmongMany(e Entry) {
	k := b.chunkFor(e)
	i := position(*b.chunk(k), e)
	if len(*b.chunk(k)) == chunkCap {
		k, i = b.cut(k, i)
	}
	c := append(*b.chunk(k), e)
	copy(c[i+1:], c[i:])
	c[i] = e
	*b.chunk(k) = c
}

// cut halves the full chunk k and returns the new chunk and position of its entry i.
func (b *bin) cut(k, i int) (int, int) {
	const half = chunkCap / 2
	full := *b.chunk(k)
	upper := append(make([]Entry, 0, chunkCap), full[half:]...)
	b.more = append(b.more, nil)
	copy(b.more[k+1:], b.more[k:])
	b.more[k] = upper
	*b.chunk(k) = full[:half]
	if i > half {
		return k + 1, i - half
	}
	return k, i
}

// find returns the position of a block in a small bin, and false if it is missing.
func (b *bin) find(block int32) (place, bool) {
	if len(b.more) == 0 && len(b.first) <= 8 {
		for i := range b.first {
			if b.first[i].Block == block {
				return place{0, int32(i)}, true
			}
		}
	}
	return place{}, false
}

// remove removes the entry at p and reports whether the bin has others.
func (b *bin) remove(p place) bool {
	if p.chunk > 0 {
		return b.removeAmongMany(p)
	}
	c := b.first
	end := len(c) - 1
	for j := int(p.at); j < end; j++ { // usually there is nothing to move, so this avoids a call to copy
		c[j] = c[j+1]
	}
	b.first = c[:end]
	return end > 0 || len(b.more) > 0
}

func (b *bin) removeAmongMany(p place) bool {
	at := &b.more[p.chunk-1]
	c := *at
	copy(c[p.at:], c[p.at+1:])
	*at = c[:len(c)-1]
	if len(*at) == 0 {
		b.more = append(b.more[:p.chunk-1], b.more[p.chunk:]...)
	}
	return len(b.first) > 0 || len(b.more) > 0
}

func (b *bin) appendBlocks(to []int32) []int32 {
	for k := 0; k <= len(b.more); k++ {
		for _, e := range *b.chunk(k) {
			to = append(to, e.Block)
		}
	}
	return to
}
