// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"

	"snug/internal/kernel"
)

// monomial is a product of powers of the quantities: with quantities batch and seq, batch·seq² is [1 2].
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

// exact returns the value of m as an integer. The caller ensures that it is small enough.
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

// monomials lists the products of n quantities that may appear in formulas, simplest first: the constant, each
// quantity, products, squares.
func monomials(n int) []monomial {
	var out []monomial
	for degree := 0; degree <= maxDegree; degree++ {
		for _, flat := range []bool{true, false} {
			out = appendMonomials(out, make(monomial, n), 0, degree, flat)
		}
	}
	return out
}

// appendMonomials appends the monomials of a total degree: only those without squares if flat is set, otherwise only
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

// term is a monomial, by its index in the program's list, with its coefficient.
type term struct {
	coef int64
	mono uint8
}

// Certainty is how well a formula is established.
type Certainty uint8

// The certainties.
const (
	// Exact means that the formula explains every recording, and there are more recordings than terms.
	Exact Certainty = iota
	// Fitted means that the formula explains the recordings, but there are too few to check it.
	Fitted
	// Bounded means that no simple formula explains the recordings. The formula is an upper bound on the expected
	// size.
	Bounded
	// Measured means that a kernel's workspace was measured separately at many sizes. At the recorded sizes, the
	// measurements agree with the recordings.
	Measured
)

// formula is the size of an allocation as a function of the quantities.
type formula struct {
	terms     []term
	most      []term        // upper limit of the size; nil means no limit
	sum       *columnSum    // computed as in the kernel, instead of terms
	measured  *measuredConv // looked up by the value of a quantity, instead of terms
	seen      []observation // recorded sizes that differ from the terms
	certainty Certainty
}

// bytes evaluates f on a card for the given quantities and monomials; recording is the index of the recording made at
// exactly that size, or none. A result of 0 means that the allocation is not made.
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

// ErrTooLarge means that a size needs an allocation larger than any memory. The run fits nowhere; the profile is not
// at fault.
var ErrTooLarge = errors.New("an allocation larger than any memory")

// tooLarge is an ErrTooLarge that states the size.
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

// constant reports whether the size is the same for all quantities.
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

// maxBytes is more than any card has, and still exact as a float64.
const maxBytes = 1 << 50
