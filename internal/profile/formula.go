// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"

	"snug/internal/kernel"
)

// monomial is a product of powers of the quantities: batch·seq² is [1 2] where
// the quantities are batch and seq.
type monomial []uint8

// at returns the value of m.
func (m monomial) at(values []int64) float64 {
	v := 1.0
	for i, power := range m {
		for range power {
			v *= float64(values[i])
		}
	}
	return v
}

// exact returns the value of m if it is known to be small enough.
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

// appendMonomials appends the monomials of a total degree: those without squares if flat is set, or else
// those with squares.
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

// Certainty is how well a formula is known.
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
	// Measured: a kernel's workspace that was measured elsewhere at many sizes. At
	// the sizes of the recordings, the measurements agree with them.
	Measured
)

// formula is the size of an allocation as a function of the quantities.
type formula struct {
	terms     []term
	most      []term        // the size is never above this; nil means no limit
	sum       *columnSum    // computed as the kernel computes it, instead of terms
	measured  *measuredConv // looked up by the value of a quantity, instead of terms
	seen      []observation // sizes in the recordings that terms do not give
	certainty Certainty
}

// bytes evaluates f on a card, at the values of the quantities and of their monomials; recording is the
// one made at exactly that size, or none. A result of 0 means that the allocation is not made.
func (f *formula) bytes(on kernel.Rules, monos []float64, values []int64, recording int) (uint64, error) {
	for _, o := range f.seen {
		if o.recording == recording {
			return o.size, nil
		}
	}
	size := 0.0
	switch {
	case f.sum != nil:
		size = f.sum.bytes(monos, on)
	case f.measured != nil:
		size = float64(f.measured.points.At(int(values[f.measured.quantity])))
	default:
		size = evaluate(f.terms, monos)
	}
	if f.most != nil {
		size = min(size, evaluate(f.most, monos))
	}
	if size >= maxBytes {
		return 0, tooLarge{size / (1 << 40)}
	}
	return uint64(max(size, 0)), nil
}

// ErrTooLarge means that a size needs an allocation larger than any memory. Such a run fits nowhere; the
// profile is not at fault.
var ErrTooLarge = errors.New("an allocation larger than any memory")

// tooLarge is the error for an allocation of that size.
type tooLarge struct{ tebibytes float64 }

func (t tooLarge) Error() string { return fmt.Sprintf("an allocation of %.0f TiB", t.tebibytes) }

// Is reports whether target is ErrTooLarge.
func (t tooLarge) Is(target error) bool { return target == ErrTooLarge }

func evaluate(terms []term, monos []float64) float64 {
	sum := 0.0
	for _, t := range terms {
		sum += float64(t.coef) * monos[t.mono]
	}
	return sum
}

// constant reports whether the size is the same everywhere.
func (f *formula) constant() bool {
	return len(f.terms) == 1 && f.terms[0].mono == 0
}

// growing returns the terms that change with the quantities.
func (f *formula) growing() []term {
	var out []term
	for _, t := range f.terms {
		if t.mono != 0 {
			out = append(out, t)
		}
	}
	return out
}

// maxBytes is beyond any card, and within what a float64 counts to the byte.
const maxBytes = 1 << 50
