// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"snug/internal/gpu"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// A linear layer's bias gradient is the sum of a matrix over its rows. With few
// rows the kernel needs nothing; from about a thousand on it shares the work
// among blocks and takes a buffer for a moment, which can be larger than the
// matrix. Small recordings do not show it, so it is put where it belongs.
//
// The backward of a linear layer is easy to see in a stream: the gradients of
// input, weight and bias are allocated one after the other, and then the
// incoming gradient goes:
//
//	+ rows·inputs·e   + outputs·inputs·e   + outputs·e   (+ buffer + semaphores
//	- semaphores - buffer)   - rows·outputs·e
//
// Five sizes that have to agree on rows, outputs and the bytes e of an element
// leave little room for mistakes, and the rule is used only where it gives what
// the recording has: the same buffer, or none.

// columnSum is one of the two allocations of such a sum.
type columnSum struct {
	incoming   []term // bytes of the matrix
	columns    int64
	element    int64
	semaphores bool
}

// rules are those of the card that recordings are taken to come from, since
// they do not say.
func rules() shadow.Rules {
	return shadow.Rules{Torch: 211, Capability: gpu.Reference.Capability, SMs: gpu.Reference.SMs}
}

func (c *columnSum) bytes(monos []float64) float64 {
	incoming := evaluate(c.incoming, monos)
	if incoming >= maxBytes {
		return incoming
	}
	buffer, semaphores := rules().ColumnSum(int(incoming)/int(c.columns*c.element), int(c.columns), int(c.element))
	if c.semaphores {
		return float64(semaphores)
	}
	return float64(buffer)
}

// linear looks for the end of a linear layer's backward at event i, which
// allocates the bias's gradient. It returns the sum behind it, nil if this is
// something else, and whether the recording has its buffer.
func (w *writer) linear(i int) (sum *columnSum, there bool) {
	dw := w.before(i)
	dx := w.before(dw)
	if dx < 0 || w.events[i].Kind != stream.Alloc {
		return nil, false
	}
	there = w.hasBuffer(i + 1)
	after := i + 1
	if there {
		after += 4
	}
	bias, weight, input := w.base[w.events[i].ID], w.base[w.events[dw].ID], single(w.base[w.events[dx].ID])
	if input == nil || !bias.constant() || !weight.constant() {
		return nil, false
	}
	sum = w.agreed(bias.terms[0].coef, weight.terms[0].coef, *input, after)
	if sum == nil || !w.confirmed(sum, i, there) {
		return nil, false
	}
	return sum, there
}

// before is the last allocation before event i with at most a few frees between
// the two, as a checkpoint lets go of what it recomputed: activations, and the
// cast of the weight whose gradient this is; -1 if none is. A free of another
// size means that the gradient itself was cast, which is another matter.
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

// agreed looks among what is freed next for the incoming gradient. If that is
// held elsewhere, the size of elements is the one that other layers had.
func (w *writer) agreed(bias, weight int64, input term, after int) *columnSum {
	for ; after < len(w.events) && w.events[after].Kind == stream.Free; after++ {
		incoming := single(w.base[w.events[after].ID])
		if incoming == nil {
			continue
		}
		if sum := agree(bias, weight, input, *incoming); sum != nil {
			w.element = sum.element
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

// agree finds rows, columns and element size in the four sizes.
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

// hasBuffer says whether events from i on are a buffer and its semaphores.
func (w *writer) hasBuffer(i int) bool {
	if i+3 >= len(w.events) {
		return false
	}
	e := w.events[i : i+4]
	return e[0].Kind == stream.Alloc && e[1].Kind == stream.Alloc &&
		e[2].Kind == stream.Free && e[2].ID == e[1].ID && e[3].Kind == stream.Free && e[3].ID == e[0].ID
}

// confirmed says whether the rule gives what the recording has.
func (w *writer) confirmed(sum *columnSum, i int, there bool) bool {
	monos := w.f.program.at(w.f.points[w.k])
	semaphores := *sum
	semaphores.semaphores = true
	if !there {
		return sum.bytes(monos) == 0
	}
	return uint64(sum.bytes(monos)) == w.events[i+1].Size && uint64(semaphores.bytes(monos)) == w.events[i+2].Size
}

// addSum writes the buffer and its semaphores, or gives those of the recording
// their formulas.
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
