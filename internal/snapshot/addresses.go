// SPDX-License-Identifier: Apache-2.0

package snapshot

// fate is what is known of an address while entries are folded.
type fate uint8

const (
	unseen fate = iota
	alive
	waiting // free_requested, not yet completed
	gone
)

// slot is what a recording did last at an address.
type slot struct {
	addr uint64
	id   uint32
	fate fate
}

// addressTable maps addresses to what happened there: open addressing, since a
// recording asks twice per allocation and a Go map is most of the time then.
type addressTable struct {
	slots []slot
	used  int
	shift uint
}

func newAddressTable() *addressTable {
	const bits = 10
	return &addressTable{slots: make([]slot, 1<<bits), shift: 64 - bits}
}

// at returns the slot of an address, a fresh one if it was never seen. It is
// valid until the next call.
func (t *addressTable) at(addr uint64) *slot {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	s := t.probe(addr)
	if s.fate == unseen && s.addr != addr {
		s.addr = addr
	}
	return s
}

func (t *addressTable) probe(addr uint64) *slot {
	// Blocks begin at multiples of 512.
	for i := (addr >> 9) * 0x9e3779b97f4a7c15 >> t.shift; ; i = (i + 1) & uint64(len(t.slots)-1) {
		if s := &t.slots[i]; s.fate == unseen || s.addr == addr {
			return s
		}
	}
}

// set records what became of a slot that at returned.
func (t *addressTable) set(s *slot, f fate, id uint32) {
	if s.fate == unseen {
		t.used++
	}
	s.fate, s.id = f, id
}

func (t *addressTable) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	t.shift--
	for _, s := range old {
		if s.fate != unseen {
			*t.probe(s.addr) = s
		}
	}
}
