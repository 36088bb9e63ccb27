// SPDX-License-Identifier: Apache-2.0

package script

import "fmt"

// place is an unknown integer, such as a random index, plus a known one. data[i : i + 512] has 512 elements
// wherever it starts.
type place struct {
	of          *int // identifies the unknown number
	plus        int
	least, most int // its bounds without plus; both 0 if unknown
}

func newPlace() *place { return &place{of: new(int)} }

// randomInteger implements random.randint(a, b), or randrange(a, b), which excludes b.
func randomInteger(excluded int) func(*interpreter, arguments) value {
	return func(_ *interpreter, a arguments) value {
		p := newPlace()
		least, okL := a.or(0, "a", nil).(int)
		most, okM := a.or(1, "b", nil).(int)
		if okL && okM && least > 0 && most-excluded >= least {
			p.least, p.most = least, most-excluded
		}
		return p
	}
}

// randomLength notes that a dimension of a tensor in host memory is random, so that batches vary in size.
func (in *interpreter) randomLength(v value) {
	p, ok := v.(*place)
	if !ok || in.survey != nil || len(in.Lengths) > 0 {
		return
	}
	how := "--lengths"
	if p.most > 0 {
		how = fmt.Sprintf("--lengths uniform:%d-%d", p.least+p.plus, p.most+p.plus)
	}
	in.note("the length of this tensor is random, but every batch is simulated with the same length; if lengths vary, the run reserves more: give them, as with %s", how)
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
	}
	if okA || okB {
		return unknown{}, true
	}
	return nil, false
}

// randomSize calls randomLength for each size among the arguments of a function that makes a tensor.
func (in *interpreter) randomSize(a arguments) {
	for _, v := range append(append([]value(nil), a.pos...), a.or(-1, "size", nil)) {
		in.randomLength(v)
		if l, ok := v.(*list); ok {
			for _, x := range l.items {
				in.randomLength(x)
			}
		}
	}
}
