// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"snug/internal/kernel"
	"snug/internal/stream"
)

// sumAt looks for the result of a sum at event i. It returns the sum, or nil if there is none, and whether the
// recording has the sum's buffer.
func (w *writer) sumAt(i int) (sum *columnSum, there bool) {
	if w.events[i].Kind != stream.Alloc || w.moment(i) || !w.base[w.events[i].ID].constant() {
		return nil, false
	}
	if w.hasBuffer(i + 1) {
		return w.shown(i), true
	}
	if sum = w.linear(i, i+1); sum == nil {
		sum = w.product(i)
	}
	if sum != nil && sum.bytes(w.monos(i), w.f.rules) != 0 {
		return nil, false
	}
	return sum, false
}

// shown returns the sum whose buffer is in the recording at event i, or nil.
func (w *writer) shown(i int) *columnSum {
	result := w.base[w.events[i].ID].terms[0].coef
	for _, matrix := range w.around(i) {
		for _, e := range []int64{2, 4} {
			sum := &columnSum{incoming: []term{matrix}, columns: result / e, element: e}
			if result%e == 0 && matrix.coef%result == 0 && w.confirmed(sum, i) {
				w.noteElement(i, e)
				return sum
			}
		}
	}
	// The matrix may stay allocated for another use, such as a residual branch with the same gradient.
	if sum := w.linear(i, i+5); sum != nil && w.confirmed(sum, i) {
		return sum
	}
	return nil
}

// around returns the sizes that grow among the tensors freed after a sum or allocated before it.
func (w *writer) around(i int) []term {
	var out []term
	for j := i + 5; j < len(w.events) && w.events[j].Kind == stream.Free; j++ {
		if t := single(w.base[w.events[j].ID]); t != nil {
			out = append(out, *t)
		}
	}
	for j := i - 1; j >= max(i-2, 0); j-- {
		if t := single(w.base[w.events[j].ID]); t != nil && w.events[j].Kind == stream.Alloc {
			out = append(out, *t)
		}
	}
	return out
}

// linear returns the sum at the end of a linear layer's backward, or nil. Event i allocates the gradient
// of the bias; the frees that follow start at event after.
func (w *writer) linear(i, after int) *columnSum {
	dw := w.before(i)
	dx := w.before(dw)
	if dx < 0 || w.isCublas(dw) {
		return nil
	}
	if first := w.before(dx); first >= 0 && w.isCublas(dx) {
		dx = first // the first matrix product on this thread allocates the cuBLAS workspace
	}
	bias, weight, input := w.base[w.events[i].ID], w.base[w.events[dw].ID], single(w.base[w.events[dx].ID])
	if input == nil || !weight.constant() {
		return nil
	}
	return w.agreed(bias.terms[0].coef, weight.terms[0].coef, *input, i, after)
}

// minRow is the smallest row, in bytes, for which a sum over rows is recognized.
const minRow = 256

// isCublas reports whether event i allocates the cuBLAS workspace of the recordings' card, or of any card if that
// card is unknown.
func (w *writer) isCublas(i int) bool {
	if w.f.program.Card == "" {
		return kernel.IsCublas(w.events[i].Size)
	}
	return w.events[i].Size == w.f.rules.Cublas().N
}

// product returns the sum over a product allocated for it, or nil. The gradients of norm weights are float32 if
// gradients are cast to float32; otherwise they have the type of all gradients.
func (w *writer) product(i int) *columnSum {
	if i == 0 || i+1 >= len(w.events) || w.events[i+1].Kind != stream.Free || w.events[i-1].Kind != stream.Alloc || w.events[i+1].ID != w.events[i-1].ID {
		return nil
	}
	matrix, result := single(w.base[w.events[i-1].ID]), w.base[w.events[i].ID].terms[0].coef
	e := w.element
	if w.casts || e == 0 {
		e = 4
	}
	if matrix == nil || result < minRow || result%e != 0 || matrix.coef%result != 0 {
		return nil // sizes do not match, or are too small to be sure
	}
	return &columnSum{incoming: []term{*matrix}, columns: result / e, element: e}
}

// noteElement records the element size of a linear layer's gradients, and whether they are cast to twice that size
// before they are kept.
func (w *writer) noteElement(i int, e int64) {
	w.element = e
	w.casts = w.casts || w.castLater(i, 2*int64(w.events[i].Size))
}

// before returns the last allocation before event i, with at most a few frees between the two; -1 if there is none.
// Under checkpointing, those frees release recomputed activations and the cast of the weight in question. A free of
// another size means that the gradient itself was cast, which is not a sum.
func (w *writer) before(i int) int {
	size := none
	for j := i - 1; j >= max(i-4, 0); j-- {
		f := w.base[w.events[j].ID]
		switch {
		case w.events[j].Kind == stream.Alloc && (size == none || f.constant() && int(f.terms[0].coef) == size):
			return j
		case w.events[j].Kind == stream.Alloc, f == nil:
			return -1
		case f.constant():
			size = int(f.terms[0].coef)
		}
	}
	return -1
}

// agreed returns the sum whose incoming gradient is among the next frees, or nil. If the incoming gradient is still
// in use, the element size is taken from other layers.
func (w *writer) agreed(bias, weight int64, input term, i, after int) *columnSum {
	for j := after; j < len(w.events) && w.events[j].Kind == stream.Free; j++ {
		incoming := single(w.base[w.events[j].ID])
		if incoming == nil {
			continue
		}
		if sum := agree(bias, weight, input, *incoming); sum != nil {
			w.noteElement(i, sum.element)
			return sum
		}
	}
	if w.element == 0 || bias%w.element != 0 || weight%bias != 0 || weight == bias {
		return nil
	}
	inputs := weight / bias
	if input.coef%(inputs*w.element) != 0 {
		return nil
	}
	incoming := term{input.coef / inputs / w.element * bias, input.mono}
	return &columnSum{incoming: []term{incoming}, columns: bias / w.element, element: w.element}
}

// agree returns the sum whose rows, columns and element size match the four sizes, or nil.
func agree(bias, weight int64, input, incoming term) *columnSum {
	if input.mono != incoming.mono || weight%bias != 0 || incoming.coef%bias != 0 || weight == bias {
		return nil
	}
	rows, inputs := incoming.coef/bias, weight/bias
	for _, e := range []int64{2, 4} {
		if bias%e == 0 && input.coef == rows*inputs*e {
			return &columnSum{incoming: []term{incoming}, columns: bias / e, element: e}
		}
	}
	return nil
}

// hasBuffer reports whether the events from i on allocate and free a buffer and its semaphores.
func (w *writer) hasBuffer(i int) bool {
	if i+3 >= len(w.events) {
		return false
	}
	e := w.events[i : i+4]
	return e[0].Kind == stream.Alloc && e[1].Kind == stream.Alloc &&
		e[2].Kind == stream.Free && e[2].ID == e[1].ID && e[3].Kind == stream.Free && e[3].ID == e[0].ID
}

// confirmed reports whether a sum has the buffer and the semaphores that follow event i, in every
// recording that has them.
func (w *writer) confirmed(sum *columnSum, i int) bool {
	semaphores := *sum
	semaphores.semaphores = true
	return w.gives(sum, w.events[i+1].ID) && w.gives(&semaphores, w.events[i+2].ID)
}

func (w *writer) gives(sum *columnSum, id uint32) bool {
	for monos, size := range w.observed(id) {
		if uint64(sum.bytes(monos, w.f.rules)) != size {
			return false
		}
	}
	return true
}

// addSum writes the buffer and its semaphores, or assigns formulas to the recorded ones.
func (w *writer) addSum(i int, sum *columnSum, there bool) {
	semaphores := *sum
	semaphores.semaphores = true
	buffer, count := &formula{sum: sum}, &formula{sum: &semaphores}
	if there {
		w.base[w.events[i+1].ID], w.base[w.events[i+2].ID] = buffer, count
		return
	}
	a, b := w.made, w.made+1
	w.made += 2
	queue := w.events[i].Queue
	w.out = append(w.out,
		event{id: a, formula: w.f.intern(buffer), queue: queue, kind: stream.Alloc},
		event{id: b, formula: w.f.intern(count), queue: queue, kind: stream.Alloc},
		event{id: b, kind: stream.Free}, event{id: a, kind: stream.Free})
}
