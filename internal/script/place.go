// SPDX-License-Identifier: Apache-2.0

package script

// place is an unknown integer, such as a random index, plus a known one. data[i : i + 512] has 512 elements
// wherever it starts.
type place struct {
	of          *int // identifies the unknown number
	plus        int
	least, most int // its bounds without plus; both 0 if unknown
}

func newPlace() *place { return &place{of: new(int)} }

// placeIn returns an unknown integer with bounds.
func placeIn(least, most int) *place {
	p := newPlace()
	p.least, p.most = least, most
	return p
}

// randomInteger implements random.randint(a, b), or a function that excludes b.
func randomInteger(excluded int) func(*interpreter, arguments) value {
	return func(_ *interpreter, a arguments) value {
		least, most, ok := randomBounds(a, "a", "b")
		if !ok || most-excluded < least {
			return newPlace()
		}
		return placeIn(least, most-excluded)
	}
}

// randomBounds returns the two bounds in the arguments of a function for random integers. Without a lower bound it is 0.
func randomBounds(a arguments, low, high string) (least, most int, ok bool) {
	first, okF := a.or(0, low, nil).(int)
	second, okS := a.or(1, high, nil).(int)
	if !okS && okF {
		return 0, first, true
	}
	return first, second, okF && okS
}

// minus returns n minus the place.
func (p *place) minus(n int) value {
	if p.least == 0 && p.most == 0 {
		return unknown{}
	}
	return placeIn(n-p.most-p.plus, n-p.least-p.plus)
}

// placed returns the sum or difference of a place and a number or another place.
func placed(op string, l, r value) (value, bool) {
	a, okA := l.(*place)
	b, okB := r.(*place)
	switch {
	case okA && okB && op == "-" && a.of == b.of:
		return a.plus - b.plus, true
	case okA && op == "+":
		if n, ok := r.(int); ok {
			return &place{a.of, a.plus + n, a.least, a.most}, true
		}
	case okA && op == "-":
		if n, ok := r.(int); ok {
			return &place{a.of, a.plus - n, a.least, a.most}, true
		}
	case okB && op == "+":
		if n, ok := l.(int); ok {
			return &place{b.of, b.plus + n, b.least, b.most}, true
		}
	case okB && op == "-":
		if n, ok := l.(int); ok {
			return b.minus(n), true
		}
	}
	if okA || okB {
		return unknown{}, true
	}
	return nil, false
}
