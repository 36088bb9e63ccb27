// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math/bits"
	"math/rand/v2"
)

// fate is the state of an address while entries are folded.
type fate uint8

const (
	unseen fate = iota
	alive
	waiting // free_requested, not yet completed
	gone
)

// slot is the latest event at an address.
type slot struct {
	addr uint64
	id   uint32
	fate fate
}

// addressTable maps addresses to their slots. It uses open addressing, because there are two lookups per allocation,
// and a Go map would take most of the time.
//
// An address's position depends on two random numbers. If they were known, a file could contain addresses that all
// collide, and each search would examine all others.
type addressTable struct {
	slots  []slot
	used   int
	shift  uint
	secret [2]uint64
}

func newAddressTable() *addressTable {
	const bits = 10
	return &addressTable{slots: make([]slot, 1<<bits), shift: 64 - bits, secret: [2]uint64{rand.Uint64(), rand.Uint64() | 1}}
}

// at returns an address's slot, adding one if the address is new. The slot is valid until the next call.
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

// home returns the index at which the search for an address begins.
func (t *addressTable) home(addr uint64) uint64 {
	hi, lo := bits.Mul64(addr^t.secret[0], t.secret[1])
	return (hi ^ lo) * 0x9e3779b97f4a7c15 >> t.shift
}

func (t *addressTable) probe(addr uint64) *slot {
	for i := t.home(addr); ; i = (i + 1) & uint64(len(t.slots)-1) {
		if s := &t.slots[i]; s.fate == unseen || s.addr == addr {
			return s
		}
	}
}

// set sets the fate and the ID of a slot that at returned.
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
