// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/units"
)

// plainAddresses is the simplest implementation of the rules: it examines every chunk.
type plainAddresses struct {
	addresses
}

func (a *plainAddresses) place(bytes uint64) uint64 {
	for i := len(a.chunks) - 1; i >= 0; i-- {
		if c := &a.chunks[i]; c.room >= bytes {
			return c.take(bytes)
		}
	}
	lo := a.reserve(roundUp(bytes, chunkUnit))
	c := chunk{span: span{lo, lo + roundUp(bytes, chunkUnit)}}
	if lo+bytes < c.hi {
		c.put(span{lo + bytes, c.hi})
	}
	a.chunks = append(a.chunks, c)
	return lo
}

func (a *plainAddresses) release(s span) {
	for i := len(a.chunks) - 1; i >= 0; i-- {
		c := &a.chunks[i]
		if s.lo < c.lo || s.lo >= c.hi {
			continue
		}
		if c.put(s); c.empty() {
			a.gaps = insertSpan(a.gaps, c.span)
			a.chunks = slices.Delete(a.chunks, i, i+1)
		}
		return
	}
}

// TestAddresses checks that the fast search finds the same chunks as examining all of them.
func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var quick addresses
		quick.forget()
		quick.floor = 1 << 46
		plain := plainAddresses{addresses{floor: 1 << 46}}
		var live []span
		size := rapid.OneOf(rapid.Uint64Range(1, 20), rapid.Uint64Range(10, 100))
		for range rapid.IntRange(1, 600).Draw(t, "steps") {
			if len(live) > 0 && rapid.IntRange(0, 9).Draw(t, "op") < 4 {
				k := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				quick.release(live[k])
				plain.release(live[k])
				live = slices.Delete(live, k, k+1)
				continue
			}
			bytes := size.Draw(t, "size") * granularity
			got, want := quick.place(bytes), plain.place(bytes)
			if got != want {
				t.Fatalf("%d bytes go to %#x, want %#x", bytes, got, want)
			}
			live = append(live, span{got, got + bytes})
		}
	})
}

// TestManyChunks checks that a hundred thousand full chunks are not examined one by one.
func TestManyChunks(t *testing.T) {
	d := NewDriver(1<<58, 0)
	const n = 100_000
	var addrs []uint64
	for range n {
		addr, _ := d.Take(32 * units.MiB)
		addrs = append(addrs, addr)
	}
	for _, addr := range addrs {
		d.Give(addr, 32*units.MiB)
	}
	if d.work > 100*n {
		t.Errorf("%d segments took %d steps", n, d.work)
	}
	if len(d.chunks) > 1000 {
		t.Errorf("%d chunks are left", len(d.chunks))
	}
}
