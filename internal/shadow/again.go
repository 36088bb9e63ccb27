// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

// Passage is a micro-batch as it was: the stretch of the trace that it wrote and
// the gradients that it left. A later one that finds no gradients either does
// all of it again, but for what is made once and stays, such as workspaces; so
// it can be written without being run.
type Passage struct {
	from, to int
	leaves   []*Tensor
	grads    []Tensor
	ids      []uint32 // the memory of each gradient
}

// Passage notes the events from index from on, and the gradients of params.
func (w *World) Passage(from int, params []*Tensor) *Passage {
	p := &Passage{from: from, to: len(w.Trace.Events), leaves: make([]*Tensor, 0, len(params)), grads: make([]Tensor, 0, len(params))}
	for _, leaf := range params {
		if g := leaf.grad; g != nil && g.mem != nil {
			p.leaves = append(p.leaves, leaf)
			p.grads = append(p.grads, Tensor{w: w, size: g.size, stride: g.stride, dtype: g.dtype, isView: g.isView})
			p.ids = append(p.ids, g.mem.id)
		}
	}
	return p
}

// Again writes a passage once more, and gives the parameters its gradients. It
// says whether it could: not where gradients share memory, or where older
// memory was touched.
func (w *World) Again(p *Passage) bool {
	ids := append([]uint32(nil), p.ids...)
	made, ok := w.Trace.Again(p.from, p.to, ids)
	if !ok {
		return false
	}
	w.Tags = slices.Grow(w.Tags, len(made))
	for _, old := range made {
		w.Tags = append(w.Tags, w.Tags[old])
	}
	for i, leaf := range p.leaves {
		g := w.pages.tensors.take(&tensorPages)
		*g = p.grads[i]
		g.mem = w.pages.storages.take(&storagePages)
		g.mem.id, g.mem.refs = ids[i], 1
		leaf.grad = g.hold()
	}
	return true
}
