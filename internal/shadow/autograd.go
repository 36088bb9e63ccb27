// SPDX-License-Identifier: Apache-2.0

package shadow

import "math"

// node is one node of the autograd graph: torch::autograd::Node.
//
// It lives as long as a tensor or a later node refers to it. The tensors it saved for backward are freed once it
// has run, or once nothing refers to it.
type node struct {
	w     *World
	name  string
	seq   uint64
	refs  int32
	deps  int32 // gradients still to arrive during a backward
	seen  uint64
	next  []edge
	saved []*saved
	in    []*Tensor                   // the arrived gradients, one per output
	back  func(g *Tensor) []*Tensor   // for an op with one output
	backs func(g []*Tensor) []*Tensor // for an op with several outputs
	leaf  *Tensor                     // set only on AccumulateGrad
	holds []*Tensor                   // attributes of a Function's context, which last as long as the node

	before []func() // hooks on its output, run when the gradient is complete

	edges     [2]edge // backing arrays of next and in, large enough for most nodes
	first     [1]*Tensor
	path      string // path of the module that recorded it
	logits    bool   // it computes the logits or their loss
	iteration uint8  // iteration of the loop that recorded it
}

// edge points to the node that receives the gradient of one input, and gives the gradient's shape and type.
type edge struct {
	to    *node
	nr    int32
	size  Shape
	dtype DType
}

// saved is a SavedVariable: a tensor kept for the backward, or the holder that
// a checkpoint keeps in its place.
type saved struct {
	t      *Tensor
	holder *holder
}

// get returns the saved tensor, once the engine has unpacked it.
func (s *saved) get() *Tensor { return s.t }

// record begins an op's node, or returns nil if nothing needs a gradient. Every method of a nil node does
// nothing, so that ops need not check.
//
// Autograd saves an op's inputs before the op runs: call record and save before
// the first allocation.
func (w *World) record(name string, inputs ...*Tensor) *node {
	if !w.gradMode {
		return nil
	}
	any := false
	for _, t := range inputs {
		any = any || (t != nil && t.requiresGrad)
	}
	if !any {
		return nil
	}
	w.seq++
	n := w.pages.nodes.take(&nodePages)
	n.w, n.name, n.seq, n.next = w, name, w.seq, n.edges[:0]
	if len(inputs) > len(n.edges) {
		n.next = make([]edge, 0, len(inputs))
	}
	n.next = n.next[:len(inputs)]
	n.path, n.logits, n.iteration = w.modulePath(), w.component == Logits, w.folding.now
	for i, t := range inputs {
		if t != nil && t.requiresGrad {
			n.next[i] = t.gradientEdge()
		}
	}
	return n
}

// gradientEdge returns the destination of this tensor's gradient.
func (t *Tensor) gradientEdge() edge {
	to := t.fn
	if t.leaf {
		if t.acc == nil {
			t.acc = t.w.pages.nodes.take(&nodePages)
			t.acc.w, t.acc.name, t.acc.seq, t.acc.leaf = t.w, "AccumulateGrad", math.MaxUint64, t.Hold()
		}
		to = t.acc
	}
	to.refs++
	return edge{to: to, nr: t.nr, size: t.size, dtype: t.dtype}
}

// needsGrad reports whether input i needs a gradient.
func (n *node) needsGrad(i int) bool { return n.wants(i) }

// save keeps t for the backward. Save inputs in the order of their names in
// PyTorch's derivatives, then outputs: they are released in that order.
func (n *node) save(t *Tensor) *saved {
	if n == nil {
		return nil
	}
	s := n.w.pages.saves.take(&savePages)
	if h := n.w.hooks; h != nil {
		s.holder = h.pack(n, t)
		s.t = h.kept(t)
	} else {
		s.t = t.alias(t.size, t.stride).Hold()
	}
	n.saved = append(n.saved, s)
	return s
}

// saveIf saves t only if the condition holds. An input used only to compute another input's gradient is not saved
// if that gradient is not needed.
func (n *node) saveIf(cond bool, t *Tensor) *saved {
	if !cond {
		return nil
	}
	return n.save(t)
}

// hold keeps t as long as the node exists.
func (n *node) hold(t *Tensor) {
	if n != nil {
		n.holds = append(n.holds, t.Hold())
	}
}

// backward sets the function that computes the gradients of the op's inputs, in the order of record's inputs,
// from the gradient of its output.
func (n *node) backward(f func(g *Tensor) []*Tensor) {
	if n != nil {
		n.back = f
	}
}

// backwards is backward for an op with several outputs.
func (n *node) backwards(f func(g []*Tensor) []*Tensor) {
	if n != nil {
		n.backs = f
	}
}

// result ends an op: it attaches the node to the output and frees the temporary arguments.
func (n *node) result(out *Tensor, args ...*Tensor) *Tensor {
	n.output(out, 0)
	dropTemporaries(args...)
	return out
}

// output makes t output number nr of the op.
func (n *node) output(t *Tensor, nr int32) {
	if n == nil {
		return
	}
	t.fn, t.nr, t.requiresGrad = n, nr, true
	n.refs++
}

// unref removes one reference to the node, and ends the node if it was the last.
func (n *node) unref() {
	n.refs--
	switch {
	case n.refs > 0:
	case n.leaf != nil: // AccumulateGrad holds its leaf, but the leaf does not hold AccumulateGrad
		leaf := n.leaf
		leaf.acc = nil
		leaf.Drop()
	default:
		n.end()
	}
}

// gone reports whether nothing refers to the node, outside a backward.
func (n *node) gone() bool { return n.next == nil && (n.leaf == nil || n.refs <= 0) }

// end releases everything the node holds.
func (n *node) end() {
	n.release()
	for _, t := range n.holds {
		t.Drop()
	}
	next := n.next
	n.next, n.holds = nil, nil
	for _, e := range next {
		if e.to != nil {
			e.to.unref()
		}
	}
}

// release frees the tensors that the node saved.
func (n *node) release() {
	for _, s := range n.saved {
		if s.holder != nil {
			s.holder.leave()
			s.holder = nil
		}
		if s.t != nil {
			t := s.t
			s.t = nil
			t.Drop()
		}
	}
	n.saved = nil
	n.back, n.backs = nil, nil
}

// inputGrads returns the gradients of an op's inputs, in order.
func inputGrads(g ...*Tensor) []*Tensor { return g }

// Function is a torch.autograd.Function of one input that needs a gradient. It saves nothing by itself; the
// caller must hold what backward uses.
func (t *Tensor) Function(name string, forward func() *Tensor, backward func(g *Tensor) *Tensor) *Tensor {
	n := t.w.record(name, t)
	out := forward()
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(backward(g)) })
	return n.result(out, t)
}

// HoldingFunction is a torch.autograd.Function whose context keeps its only input as an attribute, so that the input
// lives as long as the graph.
func (t *Tensor) HoldingFunction(name string, forward func(x *Tensor) *Tensor, backward func(g *Tensor) *Tensor) *Tensor {
	n := t.w.record(name, t)
	enable := t.w.NoGrad()
	out := forward(t.Hold())
	enable()
	n.hold(t)
	t.loosen()
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(backward(g)) })
	return n.result(out, t)
}

// SavingFunction is a torch.autograd.Function that saves its one input for the backward.
func (t *Tensor) SavingFunction(name string, forward func(x *Tensor) *Tensor, backward func(g, x *Tensor) *Tensor) *Tensor {
	n := t.w.record(name, t)
	mark := t.w.pin(t) // unlike a reference, it is released if the recomputation of a checkpoint stops at save
	enable := t.w.NoGrad()
	out := forward(t)
	enable()
	kept := n.save(t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(backward(g, kept.get())) })
	n.result(out, t)
	t.w.unpin(mark)
	return out
}

// AfterGrad returns t behind a new node with the given name, which runs hook when the gradient of t arrives.
// Wrappers do this to a module's input. If t needs no gradient, AfterGrad returns t itself.
func (t *Tensor) AfterGrad(name string, hook func()) *Tensor {
	if !t.requiresGrad || !t.w.gradMode {
		return t
	}
	return t.Function(name,
		func() *Tensor { return t.alias(t.size, t.stride) },
		func(g *Tensor) *Tensor { hook(); return g })
}

// BeforeBackward runs hook when the gradient of t is complete, before the op that made t runs its
// backward. If t needs no gradient, hook never runs.
func (t *Tensor) BeforeBackward(hook func()) {
	if t.requiresGrad && t.fn != nil && t.w.gradMode {
		t.fn.before = append(t.fn.before, hook)
	}
}
