// SPDX-License-Identifier: Apache-2.0

package loops

import "math/bits"

// members is the set of segments with one layout, ordered by address: a paged bitmap of their slots, with a
// summary word for each page and a summary of all pages.
type members struct {
	count int
	pages []*page
	any   []uint64 // bitmap of nonempty pages
}

type page struct {
	any   uint64 // bitmap of nonzero words
	words [64]uint64
}

const pageSlots = 64 * 64

func (m *members) add(slot int) {
	m.count++
	n := slot / pageSlots
	for n >= len(m.pages) {
		m.pages = append(m.pages, nil)
		if len(m.pages) > 64*len(m.any) {
			m.any = append(m.any, 0)
		}
	}
	g := m.pages[n]
	if g == nil {
		g = &page{}
		m.pages[n] = g
	}
	w := slot / 64 % 64
	g.words[w] |= 1 << (slot % 64)
	g.any |= 1 << w
	m.any[n/64] |= 1 << (n % 64)
}

func (m *members) remove(slot int) {
	m.count--
	n, w := slot/pageSlots, slot/64%64
	g := m.pages[n]
	g.words[w] &^= 1 << (slot % 64)
	if g.words[w] != 0 {
		return
	}
	if g.any &^= 1 << w; g.any == 0 {
		m.any[n/64] &^= 1 << (n % 64)
	}
}

// highest returns the highest occupied slot, which is the lowest address.
func (m *members) highest() int {
	k := len(m.any) - 1
	for m.any[k] == 0 {
		k--
	}
	n := k*64 + bits.Len64(m.any[k]) - 1
	g := m.pages[n]
	w := bits.Len64(g.any) - 1
	return n*pageSlots + w*64 + bits.Len64(g.words[w]) - 1
}
