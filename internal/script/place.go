// SPDX-License-Identifier: Apache-2.0

package script

// place is an unknown integer, such as a random index, plus a known one. data[i : i + 512] has 512 elements
// wherever it starts.
type place struct {
	of   *int // identifies the unknown number
	plus int
}

func newPlace() *place { return &place{of: new(int)} }

// placed returns the sum or difference of a place and a number or another place.
func placed(op string, l, r value) (value, bool) {
	a, okA := l.(*place)
	b, okB := r.(*place)
	switch {
	case okA && okB && op == "-" && a.of == b.of:
		return a.plus - b.plus, true
	case okA && op == "+":
		if n, ok := r.(int); ok {
			return &place{a.of, a.plus + n}, true
		}
	case okA && op == "-":
		if n, ok := r.(int); ok {
			return &place{a.of, a.plus - n}, true
		}
	case okB && op == "+":
		if n, ok := l.(int); ok {
			return &place{b.of, b.plus + n}, true
		}
	}
	if okA || okB {
		return unknown{}, true
	}
	return nil, false
}
