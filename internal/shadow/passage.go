// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"slices"

	"snug/internal/stream"
)

// Passage is a micro-batch that started without gradients: its part of the trace, and when each gradient was
// made. Later micro-batches repeat all of it, except for allocations that are made once and kept, such as
// workspaces. They can therefore be written without being run: by Again in a new step, and by More if gradients
// are added to existing ones.
type Passage struct {
	w        *World
	from, to int
	arrivals []arrival
	unlike   bool // later micro-batches would differ
}

// arrival is a gradient that arrived at a leaf.
type arrival struct {
	leaf  *Tensor
	grad  *Tensor     // must not be used once the passage has ended
	like  *gradLayout // the layout of grad
	id    uint32      // ID of grad's memory
	at    int         // index of the event before which grad arrived
	taken bool        // the leaf took over grad's memory; otherwise it has a copy
	lent  bool        // something else referred to grad's memory too
	tag   Tag         // the memory's tag before it became a gradient
}

// gradLayout is the shape, layout and type of a gradient.
type gradLayout struct {
	size, stride Shape
	dtype        DType
	isView       bool
}

// layoutOf returns the layout of a leaf's gradient. If it has not changed since the last passage, the same gradLayout
// is returned.
func (w *World) layoutOf(leaf *Tensor) *gradLayout {
	g := leaf.grad
	now := gradLayout{g.size, g.stride, g.dtype, g.isView}
	if known := w.layouts[leaf]; known != nil && *known == now {
		return known
	}
	if w.layouts == nil {
		w.layouts = map[*Tensor]*gradLayout{}
	}
	w.layouts[leaf] = &now
	return &now
}

// Begin starts recording a passage.
func (w *World) Begin() *Passage {
	w.passage = &Passage{w: w, from: len(w.Trace.Events), arrivals: make([]arrival, 0, w.arrived)}
	return w.passage
}

// End ends the passage. It forgets leaves that are already gone: checkpoint inputs, whose gradients lived within
// the passage.
func (p *Passage) End() {
	p.to = len(p.w.Trace.Events)
	p.w.passage = nil
	p.w.arrived = len(p.arrivals)
	p.arrivals = slices.DeleteFunc(p.arrivals, func(a arrival) bool {
		return a.leaf.dead || a.leaf.grad != a.grad
	})
	for i := range p.arrivals {
		p.unlike = p.unlike || p.arrivals[i].lent
		p.arrivals[i].grad = nil
	}
}

// arrives records that a leaf received a gradient; more means that it already had one.
func (p *Passage) arrives(a arrival, more bool) {
	m := a.leaf.grad.mem
	if m == nil || more {
		p.unlike = true
		return
	}
	a.grad, a.id, a.lent = a.leaf.grad, m.id, m.refs != 1
	a.like = p.w.layoutOf(a.leaf)
	p.arrivals = append(p.arrivals, a)
}

// Again writes the passage again and gives the leaves their gradients. It reports whether that was possible.
func (p *Passage) Again() bool {
	if p == nil || p.unlike {
		return false
	}
	ids := make([]uint32, len(p.arrivals))
	for i := range p.arrivals {
		ids[i] = p.arrivals[i].id
	}
	if !p.write(stream.Changes{Renew: ids}) {
		return false
	}
	for i := range p.arrivals {
		p.arrivals[i].renew(ids[i])
	}
	return true
}

// renew gives the leaf a gradient with the same layout in the memory with the given ID.
func (a *arrival) renew(id uint32) {
	was, w := a.like, a.leaf.w
	g := w.pages.tensors.take(&tensorPages)
	g.w, g.size, g.stride, g.dtype, g.isView = w, was.size, was.stride, was.dtype, was.isView
	g.mem = w.pages.storages.take(&storagePages)
	g.mem.id, g.mem.refs = id, 1
	a.leaf.grad = g.Hold()
}

// More writes the passage for leaves that have gradients: the new gradients are added to them and freed. It
// reports whether that was possible.
func (p *Passage) More() bool {
	if p == nil || p.unlike {
		return false
	}
	ends := make([]stream.End, 0, len(p.arrivals))
	for i := range p.arrivals {
		if a := &p.arrivals[i]; a.taken {
			ends = append(ends, stream.End{At: a.at, ID: a.id})
		}
	}
	p.swapTags()
	defer p.swapTags()
	return p.write(stream.Changes{Ends: ends})
}

// swapTags restores the former tags of temporaries that became gradients. A second call swaps them back.
func (p *Passage) swapTags() {
	for i := range p.arrivals {
		if a := &p.arrivals[i]; a.taken {
			a.tag, p.w.Tags[a.id] = p.w.Tags[a.id], a.tag
		}
	}
}

// write appends the events with their tags.
func (p *Passage) write(c stream.Changes) bool {
	made, ok := p.w.Trace.Again(p.from, p.to, c)
	p.w.Tags = slices.Grow(p.w.Tags, len(made))
	for _, old := range made {
		p.w.Tags = append(p.w.Tags, p.w.Tags[old])
	}
	return ok
}
