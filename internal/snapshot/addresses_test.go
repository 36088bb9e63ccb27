// SPDX-License-Identifier: Apache-2.0

package snapshot

import "testing"

// chosen returns addresses that the usual hash, multiplying by the golden ratio, maps to one place: multiples of a
// Fibonacci number.
func chosen(n int) []uint64 {
	a, b := uint64(1), uint64(1)
	for b < uint64(n)<<20 {
		a, b = b, a+b
	}
	var out []uint64
	for i := range uint64(n) {
		out = append(out, (i+1)*b<<9)
	}
	return out
}

// Whatever the addresses are, a search examines only a few others.
func TestChosenAddresses(t *testing.T) {
	const n = 100_000
	table := newAddressTable()
	for _, addr := range chosen(n) {
		table.set(table.at(addr), alive, 0)
	}
	passed, mask := uint64(0), uint64(len(table.slots)-1)
	for i, s := range table.slots {
		if s.fate != unseen {
			passed += (uint64(i) - table.home(s.addr)) & mask
		}
	}
	if passed > 4*n {
		t.Errorf("%d searches examined %d others", n, passed)
	}
}
