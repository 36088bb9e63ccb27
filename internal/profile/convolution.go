// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/kernel"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// Convolutions that were measured.
//
// The backward of a convolution looks like that of a linear layer: it allocates the gradients of input and weight,
// each followed by its kernel's workspace, and then frees the incoming gradient.
//
//	+ batch·in·e (+ workspace -)   + weight·e (+ workspace -)   (+ bias·e)   - batch·out·e
//
// The three sizes narrow down the convolution, and the recorded workspaces identify it. If its workspaces were
// measured at many batch sizes (package kernel's table), the measurements are used, even if the recording's small
// batch needed no workspace.

// measuredConv is a workspace that was measured for many values of one quantity.
type measuredConv struct {
	quantity int // index of the quantity that counts images
	points   kernel.ConvWorkspace
}

// conv is one convolution in the program.
type conv struct {
	mono    uint8
	element int64
	shape   kernel.ConvShape
	guess   bool // not measured; uses the workspaces of a similar convolution
}

// convolutions finds the measured convolutions and stores the formulas of their workspaces: in base for recorded
// workspaces, in extra for those to add. 16-bit elements are assumed to be bfloat16 unless some workspace fits only
// float16.
func (w *writer) convolutions(rec *snapshot.Recording, d *snapshot.Device) {
	plain := w.search(rec, d, false)
	if half := w.search(rec, d, true); half.count() > plain.count() {
		plain = half
	}
	for id, f := range plain.there {
		w.base[id] = f
	}
	w.found = plain
}

// finds holds the workspaces found for measured convolutions.
type finds struct {
	there map[uint32]*formula // by allocation
	extra map[int]*formula    // by event: the workspace to add after it
	half  bool
}

func (f finds) count() int { return len(f.there) + len(f.extra) }

func (w *writer) search(rec *snapshot.Recording, d *snapshot.Device, half bool) finds {
	w.found = finds{map[uint32]*formula{}, map[int]*formula{}, half}
	var known []conv
	for i := range w.events {
		for _, c := range w.backwardOf(i) {
			if !slices.Contains(known, c) {
				known = append(known, c)
			}
		}
	}
	if len(known) == 0 {
		return w.found
	}
	named := convStacks(rec)
	for i := range w.events {
		w.forwardOf(i, known, d.Stacks != nil && named[d.Stacks[i]])
	}
	return w.found
}

// backwardOf looks for a convolution whose weight gradient is allocated by event i. It returns all candidates, which
// may differ only in dilation, and records the workspaces of the first.
func (w *writer) backwardOf(i int) []conv {
	if w.events[i].Kind != stream.Alloc || w.moment(i) || !w.base[w.events[i].ID].constant() {
		return nil
	}
	dx, after := i-1, i+1
	if dx >= 1 && w.moment(dx-1) {
		dx -= 2
	}
	if w.moment(after) {
		after += 2
	}
	plain := dx == i-1 && after == i+1 // without workspaces, it could also be a linear layer
	after = w.pastBias(after)
	if plain || after >= len(w.events) || w.events[after].Kind != stream.Free {
		return nil
	}
	var in *term
	if dx >= 0 && w.events[dx].Kind == stream.Alloc {
		in = w.images(w.events[dx].ID)
	}
	for _, out := range w.incoming(after) {
		if can := w.measuredAt(i, dx, in, out); can != nil {
			return can
		}
	}
	return w.guessed(i, dx, in, after)
}

// incoming returns the candidates for the incoming gradient: the tensors freed from event i on. It returns none if
// the gradient is still in use.
func (w *writer) incoming(i int) []*term {
	var out []*term
	for ; i < len(w.events) && w.events[i].Kind == stream.Free && len(out) < 4; i++ {
		if t := w.images(w.events[i].ID); t != nil {
			out = append(out, t)
		}
	}
	return append(out, nil)
}

// images returns the size of an allocation if it grows with exactly one quantity; otherwise nil.
func (w *writer) images(id uint32) *term {
	if t := single(w.base[id]); t != nil && w.f.quantity(t.mono) >= 0 {
		return t
	}
	return nil
}

// pastBias skips the gradient of a bias and the buffers of its sum.
func (w *writer) pastBias(i int) int {
	if i >= len(w.events) || w.events[i].Kind != stream.Alloc || w.moment(i) || !w.base[w.events[i].ID].constant() {
		return i
	}
	if w.hasBuffer(i + 1) {
		return i + 5
	}
	return i + 1
}

// measuredAt returns the measured convolutions at event i, for either element size. One of the three sizes may be
// missing: the input gradient, which the first layer does not have, or the incoming gradient. Then the workspaces
// decide.
func (w *writer) measuredAt(i, dx int, in, out *term) []conv {
	weight := w.base[w.events[i].ID].terms[0].coef
	for _, e := range []int64{2, 4} {
		sizes := kernel.ConvSizes{Weight: int(weight / e)}
		if out != nil {
			sizes.Out = int(out.coef / e)
		}
		if in != nil && (out == nil || in.mono == out.mono) {
			both := sizes
			both.In = int(in.coef / e)
			if can := w.agreeing(conv{mono: in.mono, element: e}, both, i, dx); can != nil {
				w.take(can[0], kernel.WGrad, i)
				w.take(can[0], kernel.DGrad, dx)
				return can
			}
		}
		if out == nil || !w.moment(i+1) || w.moment(dx+1) {
			continue
		}
		if can := w.agreeing(conv{mono: out.mono, element: e}, sizes, i, none); can != nil {
			w.take(can[0], kernel.WGrad, i)
			return can
		}
	}
	return nil
}

// agreeing returns the convolutions with these sizes whose workspaces match the recordings. dx is none if the input
// has no gradient.
func (w *writer) agreeing(c conv, sizes kernel.ConvSizes, i, dx int) (can []conv) {
	for _, c.shape = range w.f.shapes(sizes) {
		if w.measured(c, kernel.WGrad, i) != nil && (dx == none || w.measured(c, kernel.DGrad, dx) != nil) {
			can = append(can, c)
		}
	}
	return can
}

// measured returns the formula of the measured workspace after event i, or nil if it differs from the
// recordings.
func (w *writer) measured(c conv, kind kernel.ConvKind, i int) *formula {
	quantity := w.f.quantity(c.mono)
	obs := []observation{{w.k, 0}}
	if w.moment(i + 1) {
		obs = w.f.observations(w.k, w.events[i+1].ID)
	}
	var row kernel.ConvWorkspace
	if c.guess {
		row = w.near(c, kind, quantity, obs)
	} else if row = w.f.row(convKey{c.shape, kind, int(c.element), w.found.half}); !w.f.agrees(row, quantity, obs) {
		return nil
	}
	if row == nil {
		return nil
	}
	how := Measured
	if c.guess || !w.f.rules.Known(kernel.Convolutions) { // the table is valid for its own card only
		how = Bounded
	}
	return &formula{measured: &measuredConv{quantity, row}, seen: obs, certainty: how}
}

// take records the measured workspace after event i, and reports whether there is one.
func (w *writer) take(c conv, kind kernel.ConvKind, i int) bool {
	f := w.measured(c, kind, i)
	switch {
	case f == nil:
		return false
	case w.moment(i + 1):
		w.found.there[w.events[i+1].ID] = f
	default:
		w.found.extra[i] = f
	}
	return true
}

// quantity returns the index of a monomial's only quantity; -1 for products and powers.
func (f *fitter) quantity(mono uint8) int {
	m := f.program.monos[mono]
	if m.degree() != 1 {
		return -1
	}
	for i, power := range m {
		if power == 1 {
			return i
		}
	}
	return -1
}

// single returns the only term of a formula if it grows; otherwise nil.
func single(f *formula) *term {
	if f == nil || len(f.terms) != 1 || f.terms[0].mono == 0 || f.certainty != Exact {
		return nil
	}
	return &f.terms[0]
}
