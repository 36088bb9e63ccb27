// SPDX-License-Identifier: Apache-2.0

package script

import (
	"math"
	"strings"

	"snug/internal/pysrc"
	"snug/internal/shadow"
)

func (in *interpreter) unary(e *pysrc.Unary) value {
	v := in.eval1(e.X)
	defer drop(v)
	if e.Op == "not" {
		yes, known := decided(e.X, v)
		if !known {
			return unknown{}
		}
		return !yes
	}
	switch x := v.(type) {
	case int:
		if e.Op == "-" {
			return -x
		}
		return x
	case float64:
		if e.Op == "-" {
			return -x
		}
		return x
	case *shadow.Tensor:
		switch e.Op {
		case "-":
			return x.Neg().Hold()
		case "~":
			not := x.Not().Hold()
			in.learn(not, in.inverted(x))
			return not
		}
		return x.Hold()
	case *hostTensor:
		if e.Op == "~" {
			not := *x
			in.learn(&not, in.inverted(x))
			in.marks(&not, in.zeros[x])
			return &not
		}
		return x
	}
	return unknown{}
}

// binary returns l op r; it borrows both.
func (in *interpreter) binary(op string, l, r value) value {
	if v, ok := in.tensorOperation(op, l, r); ok {
		if v != l && v != r {
			in.learn(v, in.combined(op, l, r))
		}
		return v
	}
	if v, ok := arithmetic(op, l, r); ok {
		return v
	}
	if v, ok := placed(op, l, r); ok {
		return v
	}
	switch a := l.(type) {
	case pathValue:
		if op == "/" {
			return newPath(in, arguments{pos: []value{a, r}})
		}
	case string:
		if b, ok := r.(string); ok && op == "+" && len(a)+len(b) < maxText {
			return a + b
		}
		if n, ok := r.(int); ok && op == "*" && n*len(a) < maxText && n < maxText {
			return strings.Repeat(a, max(n, 0))
		}
	case *list:
		return in.listOperation(op, a, r)
	case sizeValue:
		if b, ok := r.(*list); ok && op == "+" {
			joined := append(sizeValue(nil), a...)
			for _, x := range b.items {
				n, _ := x.(int)
				joined = append(joined, n)
			}
			return joined
		}
	case *dict:
		if op == "|" {
			d := &dict{}
			in.merge(d, a)
			in.merge(d, r)
			return d
		}
	}
	return unknown{}
}

func (in *interpreter) listOperation(op string, a *list, r value) value {
	out := &list{tuple: a.tuple}
	switch b := r.(type) {
	case *list:
		if op == "+" {
			in.grow(len(a.items) + len(b.items))
			for _, x := range append(append([]value(nil), a.items...), b.items...) {
				out.items = append(out.items, hold(x))
			}
			return out
		}
	case int:
		if op == "*" && b <= maxRange && b*len(a.items) <= maxRange {
			in.grow(max(b, 0) * len(a.items))
			for range b {
				for _, x := range a.items {
					out.items = append(out.items, hold(x))
				}
			}
			return out
		}
	}
	return unknown{}
}

// arithmetic computes an operation on numbers.
func arithmetic(op string, l, r value) (value, bool) {
	if b, ok := l.(bool); ok {
		l = asInt(b)
	}
	if b, ok := r.(bool); ok {
		r = asInt(b)
	}
	a, aInt := l.(int)
	b, bInt := r.(int)
	if aInt && bInt {
		return integers(op, a, b)
	}
	x, okX := number(l)
	y, okY := number(r)
	if !okX || !okY {
		return nil, false
	}
	switch op {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	case "/":
		return x / y, y != 0
	case "//":
		return math.Floor(x / y), y != 0
	case "%":
		return x - y*math.Floor(x/y), y != 0
	case "**":
		return math.Pow(x, y), true
	}
	return nil, false
}

func integers(op string, a, b int) (value, bool) {
	switch op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		if b == 0 {
			return nil, false
		}
		return float64(a) / float64(b), true
	case "//", "%":
		if b == 0 {
			return nil, false
		}
		q, m := a/b, a%b
		if m != 0 && (m < 0) != (b < 0) {
			q, m = q-1, m+b
		}
		if op == "//" {
			return q, true
		}
		return m, true
	case "**":
		return int(math.Pow(float64(a), float64(b))), b >= 0 && b < 63
	case "<<":
		return a << min(uint(b), 62), b >= 0
	case ">>":
		return a >> min(uint(b), 62), b >= 0
	case "&":
		return a & b, true
	case "|":
		return a | b, true
	}
	return nil, false
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func number(v value) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// inPlace returns the result of old op= v; it borrows both.
func (in *interpreter) inPlace(op string, old, v value) value {
	switch o := old.(type) {
	case *shadow.Tensor:
		in.writesInto(op, o, v)
		in.wroteByHand(o)
		return o.Hold()
	case *list:
		if op == "+" && !o.tuple {
			in.puts(v, o)
			o.items = append(o.items, in.items(v, 0)...)
			return hold(o)
		}
	case *dict:
		if op == "|" {
			in.merge(o, v)
			return hold(o)
		}
	}
	return in.binary(op, old, v)
}

func (in *interpreter) comparison(e *pysrc.Compare) value {
	left := in.eval1(e.Left)
	var out value = true
	for i, op := range e.Ops {
		right := in.eval1(e.Rights[i])
		v := in.compare(op, left, right)
		drop(left)
		left = right
		drop(out)
		out = v
		if yes, known := truth(v); known && !yes {
			break
		}
	}
	drop(left)
	return out
}

// compare returns l op r; it borrows both.
func (in *interpreter) compare(op string, l, r value) value {
	switch op {
	case "is", "is not":
		if isUnknown(l) || isUnknown(r) {
			return unknown{}
		}
		return same(l, r) == (op == "is")
	case "in", "not in":
		return in.contains(op, l, r)
	}
	if v, ok := in.tensorComparison(op, l, r); ok {
		in.marks(v, maybeZeros)
		in.learn(v, in.compared(op, l, r))
		return v
	}
	x, okX := number(l)
	y, okY := number(r)
	switch {
	case okX && okY:
		return ordered(op, x, y)
	case isUnknown(l) || isUnknown(r) || isBound(l) || isBound(r):
		return unknown{}
	}
	a, okA := l.(string)
	b, okB := r.(string)
	if okA && okB && op != "==" && op != "!=" {
		return ordered(op, float64(strings.Compare(a, b)), 0)
	}
	if op == "==" || op == "!=" {
		return equal(l, r) == (op == "==")
	}
	return unknown{}
}

// isBound reports whether a value is an attribute of which only the name is known.
func isBound(v value) bool {
	_, ok := v.(*bound)
	return ok
}

// equal compares values by their contents.
func equal(l, r value) bool { return equalBut(l, r, map[[2]value]bool{}) }

// equalBut is equal, but assumes that the pairs of lists in known are equal.
func equalBut(l, r value, known map[[2]value]bool) bool {
	a, okA := l.(*list)
	b, okB := r.(*list)
	if !okA || !okB || len(a.items) != len(b.items) {
		return same(l, r)
	}
	pair := [2]value{a, b}
	if known[pair] {
		return true
	}
	for i := range a.items {
		if !equalBut(a.items[i], b.items[i], known) {
			return false
		}
	}
	known[pair] = true
	return true
}

func ordered(op string, x, y float64) value {
	switch op {
	case "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}

func (in *interpreter) contains(op string, l, r value) value {
	found := false
	switch c := r.(type) {
	case *list:
		for _, x := range c.items {
			if isUnknown(x) {
				return unknown{}
			}
			found = found || equal(x, l)
		}
	case *dict:
		_, found = c.get(l)
		if !found && c.open {
			return unknown{}
		}
	case string:
		s, ok := l.(string)
		if !ok {
			return unknown{}
		}
		found = strings.Contains(c, s)
	default:
		return unknown{}
	}
	if isUnknown(l) {
		return unknown{}
	}
	return found == (op == "in")
}

func isUnknown(v value) bool {
	switch v := v.(type) {
	case unknown:
		return true
	case namespace:
		return isUnknownName(v)
	}
	return false
}
