// SPDX-License-Identifier: Apache-2.0

package doc

import "math/bits"

// evaluate computes whole-number arithmetic like 5 * 8 or 2**10, so that a setting written as a product is
// known. It returns false for anything else.
func evaluate(tokens []pyToken) (int64, bool) {
	if len(tokens) > 64 {
		return 0, false
	}
	e := arithmetic{tokens: tokens, ok: true}
	v := e.sum()
	return v, e.ok && len(e.tokens) == 0
}

type arithmetic struct {
	tokens []pyToken
	ok     bool
}

// take consumes the next token if it is one of these operators, and returns the operator or "".
func (e *arithmetic) take(signs ...string) string {
	if len(e.tokens) == 0 || e.tokens[0].kind != pySign {
		return ""
	}
	for _, s := range signs {
		if e.tokens[0].text == s {
			e.tokens = e.tokens[1:]
			return s
		}
	}
	return ""
}

func (e *arithmetic) sum() int64 {
	v := e.product()
	for {
		switch e.take("+", "-") {
		case "+":
			v = e.plus(v, e.product())
		case "-":
			v = e.plus(v, -e.product())
		default:
			return v
		}
	}
}

func (e *arithmetic) product() int64 {
	v := e.unary()
	for {
		switch e.take("*", "//") {
		case "*":
			v = e.times(v, e.unary())
		case "//":
			by := e.unary()
			if by <= 0 || v < 0 { // Python rounds down, Go to zero
				e.ok = false
				return 0
			}
			v /= by
		default:
			return v
		}
	}
}

func (e *arithmetic) unary() int64 {
	if e.take("-") != "" {
		return -e.unary()
	}
	v := e.atom()
	if e.take("**") == "" {
		return v
	}
	power := int64(1)
	exponent := e.unary()
	if exponent < 0 || exponent > 62 {
		e.ok = false
		return 0
	}
	for range exponent {
		power = e.times(power, v)
	}
	return power
}

func (e *arithmetic) atom() int64 {
	if e.take("(") != "" {
		v := e.sum()
		e.ok = e.ok && e.take(")") != ""
		return v
	}
	if len(e.tokens) == 0 || e.tokens[0].kind != pyNumber {
		e.ok = false
		return 0
	}
	_, v := pyNumberOf(e.tokens[0].text)
	e.tokens = e.tokens[1:]
	i, ok := v.(int64)
	e.ok = e.ok && ok
	return i
}

// limit bounds results so that they cannot overflow.
const limit = 1 << 62

func (e *arithmetic) plus(a, b int64) int64 {
	if sum := a + b; a > -limit && a < limit && b > -limit && b < limit {
		return sum
	}
	e.ok = false
	return 0
}

func (e *arithmetic) times(a, b int64) int64 {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if high != 0 || low >= limit {
		e.ok = false
		return 0
	}
	return a * b
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return uint64(-v)
	}
	return uint64(v)
}
