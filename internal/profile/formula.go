// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"math"
	"strings"
)

// monomial is a product of powers of the quantities: batch·seq² is [1 2] where
// the quantities are batch and seq.
type monomial []uint8

// at is the value of m.
func (m monomial) at(values []int64) float64 {
	v := 1.0
	for i, power := range m {
		for range power {
			v *= float64(values[i])
		}
	}
	return v
}

// exact is the value of m where it is known to be small enough.
func (m monomial) exact(values []int64) int64 {
	v := int64(1)
	for i, power := range m {
		for range power {
			v *= values[i]
		}
	}
	return v
}

func (m monomial) degree() int {
	d := 0
	for _, power := range m {
		d += int(power)
	}
	return d
}

// maxDegree is the highest total power in a formula: batch·seq².
const maxDegree = 3

// monomials lists the products of n quantities that sizes are made of, simplest
// first: none of them, each, their products, their squares.
func monomials(n int) []monomial {
	var out []monomial
	for degree := 0; degree <= maxDegree; degree++ {
		for _, flat := range []bool{true, false} {
			out = appendMonomials(out, make(monomial, n), 0, degree, flat)
		}
	}
	return out
}

// appendMonomials appends those of a total degree, without squares or with.
func appendMonomials(out []monomial, m monomial, i, left int, flat bool) []monomial {
	if i == len(m) {
		if left == 0 && m.flat() == flat {
			out = append(out, append(monomial(nil), m...))
		}
		return out
	}
	for power := min(left, 2); power >= 0; power-- {
		m[i] = uint8(power)
		out = appendMonomials(out, m, i+1, left-power, flat)
	}
	m[i] = 0
	return out
}

func (m monomial) flat() bool {
	for _, power := range m {
		if power > 1 {
			return false
		}
	}
	return true
}

// term is a coefficient of a monomial, which has an index in the program's list.
type term struct {
	coef int64
	mono uint8
}

// Certainty says how well a formula is known.
type Certainty uint8

// The certainties.
const (
	// Exact: it explains every recording, and there were more recordings than
	// it has parts.
	Exact Certainty = iota
	// Fitted: it goes through the recordings, which do not suffice to check it.
	Fitted
	// Bounded: no simple formula explains the recordings; this one is an upper
	// bound of what the allocation can be expected to take.
	Bounded
)

// formula is the size of an allocation as a function of the quantities.
type formula struct {
	terms     []term
	certainty Certainty
}

// bytes evaluates f; values are those of the monomials. It never goes below 1,
// since a request of nothing never reaches the allocator.
func (f *formula) bytes(monos []float64) (uint64, error) {
	sum := 0.0
	for _, t := range f.terms {
		sum += float64(t.coef) * monos[t.mono]
	}
	if sum >= maxBytes {
		return 0, fmt.Errorf("an allocation of %.0f TiB", sum/(1<<40))
	}
	return uint64(math.Max(sum, 1)), nil
}

// maxBytes is beyond any card, and within what a float64 counts to the byte.
const maxBytes = 1 << 50

// text writes f with the names of the quantities.
func (f *formula) text(names []string, monos []monomial) string {
	var parts []string
	for _, t := range f.terms {
		part := fmt.Sprint(t.coef)
		for i, power := range monos[t.mono] {
			for range power {
				part += "·" + names[i]
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " + ")
}
