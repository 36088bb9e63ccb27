// SPDX-License-Identifier: Apache-2.0

package profile

import "snug/internal/kernel"

// A formula in the file:
//
//	form          0 terms, 1 a column sum, 2 a measured convolution
//	certainty
//	form 0: terms, limit           form 1: terms, columns, element, 0 or 1
//	form 2: quantity, count, (batch, bytes)…
//	count, (recording, bytes)…     exceptions: sizes in recordings that the form does not give
//
// Terms are a count and (monomial, coefficient)….
const (
	formTerms = iota
	formSum
	formMeasured
	forms
)

func (e *encoder) formula(f *formula) {
	switch {
	case f.sum != nil:
		e.uint(formSum)
		e.uint(uint64(f.certainty))
		e.terms(f.sum.incoming)
		e.int(f.sum.columns)
		e.int(f.sum.element)
		e.uint(flag(f.sum.semaphores))
	case f.measured != nil:
		e.uint(formMeasured)
		e.uint(uint64(f.certainty))
		e.uint(uint64(f.measured.quantity))
		e.uint(uint64(len(f.measured.points)))
		for _, p := range f.measured.points {
			e.uint(uint64(p.Batch))
			e.uint(p.Bytes)
		}
	default:
		e.uint(formTerms)
		e.uint(uint64(f.certainty))
		e.terms(f.terms)
		e.terms(f.most)
	}
	e.uint(uint64(len(f.seen)))
	for _, o := range f.seen {
		e.uint(uint64(o.recording))
		e.uint(o.size)
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (e *encoder) terms(terms []term) {
	e.uint(uint64(len(terms)))
	for _, t := range terms {
		e.uint(uint64(t.mono))
		e.int(t.coef)
	}
}

func (d *decoder) formula(p *Program) formula {
	var f formula
	form := d.below(forms, "a formula's form")
	f.certainty = Certainty(d.below(int(Measured)+1, "a formula's certainty"))
	switch form {
	case formSum:
		f.sum = &columnSum{incoming: d.terms(p), columns: d.int(), element: d.int(), semaphores: d.below(2, "a flag") == 1}
		if f.sum.columns < 1 || f.sum.element < 1 || f.sum.columns > maxBytes || f.sum.element > 16 {
			d.fail("a sum over %d columns", f.sum.columns)
		}
	case formMeasured:
		f.measured = &measuredConv{quantity: d.below(len(p.Names), "a quantity's index")}
		for range d.atMostTerms(maxPoints, "measured sizes") {
			f.measured.points = append(f.measured.points, d.point())
		}
	default:
		f.terms, f.most = d.terms(p), d.terms(p)
	}
	for range d.atMostTerms(maxRecordings, "observations") {
		o := observation{recording: d.below(maxRecordings, "a recording's index")}
		if o.size = d.uint(); o.size > maxBytes {
			d.fail("an allocation of %d bytes", o.size)
		}
		f.seen = append(f.seen, o)
	}
	return f
}

// maxWorkspace times maxQuantity still fits into 64 bits.
const maxWorkspace = 1 << 38

func (d *decoder) point() kernel.BatchBytes {
	batch, bytes := d.uint(), d.uint()
	if batch == 0 || batch > maxQuantity || bytes > maxWorkspace {
		d.fail("a workspace of %d bytes at %d images", bytes, batch)
		return kernel.BatchBytes{Batch: 1}
	}
	return kernel.BatchBytes{Batch: int(batch), Bytes: bytes}
}

func (d *decoder) terms(p *Program) []term {
	var out []term
	for range d.atMostTerms(maxSum, "terms") {
		mono := d.below(len(p.monos), "a product,")
		out = append(out, term{d.int(), uint8(mono)})
	}
	return out
}
