// SPDX-License-Identifier: Apache-2.0

package bestfit

// bin contains the holes of about one size, sorted, except the first. A few holes are stored in the bin itself. A
// program may leave a hundred thousand holes of one size; they are stored in chunks, so that an insertion moves
// at most one chunk. The next change is usually close to the last one, so the bin remembers the most recently
// used chunk.
type bin struct {
	n      int32 // number of holes in few
	last   int32 // the most recently used chunk
	few    [4]hole
	chunks []chunk // used instead of few; no chunk is empty
}

type chunk struct {
	end   hole // the last hole
	n     int32
	holes *[chunkCap]hole
}

const chunkCap = 128

// spot is a position in a bin: the chunk, if there are any, and the index. The zero spot is the first.
type spot struct{ chunk, at int32 }

func (b *bin) at(s spot) hole {
	if len(b.chunks) == 0 {
		return b.few[s.at]
	}
	return b.chunks[s.chunk].holes[s.at]
}

// key is a hole to be placed; in a fine bin all holes have the same size.
type key struct {
	hole hole
	size uint64
	fine bool
}

// before reports whether x comes before k.
func (h *holes) before(x hole, k key) bool {
	if k.fine {
		return x < k.hole
	}
	size := h.size(x)
	return size < k.size || size == k.size && x < k.hole
}

// seekIn returns the spot of the first hole in a coarse bin with at least size bytes; ok is false if there is none.
func (h *holes) seekIn(b *bin, size uint64) (s spot, ok bool) {
	first := key{size: size}
	if len(b.chunks) == 0 {
		for s.at < b.n && h.before(b.few[s.at], first) {
			s.at++
		}
		return s, s.at < b.n
	}
	s = h.search(b, first)
	return s, s.at < b.chunks[s.chunk].n
}

// find returns the spot of a hole, which must be present.
func (h *holes) find(b *bin, k key) (s spot) {
	if len(b.chunks) != 0 {
		return h.search(b, k)
	}
	for b.few[s.at] != k.hole {
		s.at++
	}
	return s
}

// search returns the spot of the first hole in the chunks that is not before k: in the first chunk that reaches that
// far, or past the end of the last chunk.
func (h *holes) search(b *bin, k key) spot {
	lo, hi := int32(0), int32(len(b.chunks)-1)
	if last := b.last; last <= hi {
		if h.before(b.chunks[last].end, k) {
			lo = min(last+1, hi)
		} else if hi = last; last > 0 && h.before(b.chunks[last-1].end, k) {
			lo = last
		}
	}
	for lo < hi {
		if mid := (lo + hi) / 2; h.before(b.chunks[mid].end, k) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	b.last = lo
	c := &b.chunks[lo]
	from, to := int32(0), c.n
	for from < to {
		if mid := (from + to) / 2; h.before(c.holes[mid], k) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return spot{lo, from}
}

func (h *holes) insertIn(b *bin, k key) {
	if len(b.chunks) != 0 || int(b.n) == len(b.few) {
		h.insertAmongMany(b, k)
		return
	}
	i := b.n
	for ; i > 0 && !h.before(b.few[i-1], k); i-- {
		b.few[i] = b.few[i-1]
	}
	b.few[i] = k.hole
	b.n++
}

func (h *holes) insertAmongMany(b *bin, k key) {
	if len(b.chunks) == 0 {
		c := chunk{b.few[b.n-1], b.n, new([chunkCap]hole)}
		copy(c.holes[:], b.few[:b.n])
		b.chunks, b.n = append(b.chunks, c), 0
	}
	s := h.search(b, k)
	if b.chunks[s.chunk].n == chunkCap {
		s = b.halve(s)
	}
	c := &b.chunks[s.chunk]
	copy(c.holes[s.at+1:c.n+1], c.holes[s.at:c.n])
	c.holes[s.at] = k.hole
	c.n++
	c.end = c.holes[c.n-1]
}

// halve splits the full chunk that s is in and returns the new spot of s.
func (b *bin) halve(s spot) spot {
	const half = chunkCap / 2
	b.chunks = append(b.chunks, chunk{})
	copy(b.chunks[s.chunk+1:], b.chunks[s.chunk:])
	lower, upper := &b.chunks[s.chunk], &b.chunks[s.chunk+1]
	upper.n, upper.holes = chunkCap-half, new([chunkCap]hole)
	copy(upper.holes[:], lower.holes[half:])
	lower.n, lower.end = half, lower.holes[half-1]
	if s.at > half {
		return spot{s.chunk + 1, s.at - half}
	}
	return s
}

// remove removes a hole and reports whether the bin has others.
func (b *bin) remove(s spot) bool {
	if len(b.chunks) == 0 {
		b.n--
		for ; s.at < b.n; s.at++ {
			b.few[s.at] = b.few[s.at+1]
		}
		return b.n > 0
	}
	c := &b.chunks[s.chunk]
	c.n--
	copy(c.holes[s.at:c.n], c.holes[s.at+1:c.n+1])
	if c.n > 0 {
		c.end = c.holes[c.n-1]
		return true
	}
	b.chunks = append(b.chunks[:s.chunk], b.chunks[s.chunk+1:]...)
	return len(b.chunks) > 0
}
