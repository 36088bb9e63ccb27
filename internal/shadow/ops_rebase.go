// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that write into a tensor bound to a script's variables. The tensor stays the same object, with a new
// history.

// rebase makes the op the history of t, which the op has written to.
func (n *node) rebase(t *Tensor) {
	if n == nil {
		return
	}
	old := t.fn
	n.output(t, 0)
	t.leaf = false
	if old != nil {
		old.unref()
	}
}

// AddInto is t += o, or t -= o; o is nil for a number.
func (t *Tensor) AddInto(o *Tensor) {
	n := t.w.record("AddBackward0", t, o)
	t.w.Op("add_")
	t.w.Launch(t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g, g) })
	n.rebase(t)
	dropTemporaries(o)
}

// AddScaledInto is t.add_(o, alpha=2).
func (t *Tensor) AddScaledInto(o *Tensor) {
	n := t.w.record("AddBackward0", t, o)
	t.w.Op("add_")
	t.w.Launch(t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g, g.MulScalar()) })
	n.rebase(t)
	dropTemporaries(o)
}

// AddIntoView is t += o for a view of all elements of another tensor: the gradients pass through that tensor, with copies.
func (t *Tensor) AddIntoView(o *Tensor) {
	w := t.w
	n := w.record("CopySlices", t, o)
	w.Op("add_")
	w.Launch(t)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("new_empty_strided")
		whole := w.Empty(g.size, g.dtype).Hold()
		w.Op("clone")
		part := w.Empty(g.size, g.dtype)
		if !n.needsGrad(0) {
			whole.Drop()
			return inputGrads(nil, part)
		}
		return inputGrads(whole.loosen(), part)
	})
	n.rebase(t)
	dropTemporaries(o)
	again := w.record("AsStridedBackward0", t)
	again.backward(func(g *Tensor) []*Tensor {
		w.Op("new_zeros")
		return inputGrads(w.Empty(g.size, g.dtype))
	})
	again.rebase(t)
}

// MulInto is t *= o; o is nil for a number. The product rule needs the old t, so a copy is kept.
func (t *Tensor) MulInto(o *Tensor) {
	w := t.w
	n := w.record("MulBackward0", t, o)
	other := n.saveIf(o != nil && n.needsGrad(0), o)
	var self *saved
	if o != nil && n.needsGrad(1) {
		w.Op("clone")
		before := t.EmptyLike(t.dtype)
		self = n.save(before)
		dropTemporaries(before)
	}
	w.Op("mul_")
	w.Launch(t)
	n.backward(func(g *Tensor) []*Tensor {
		var gs, g2 *Tensor
		if self != nil {
			g2 = g.Mul(self.get())
		}
		switch {
		case other != nil:
			gs = g.Mul(other.get())
		case o == nil:
			gs = g.MulScalar()
		}
		return inputGrads(gs, g2)
	})
	n.rebase(t)
	dropTemporaries(o)
}

// MaskedFillInto is t.masked_fill_(mask, number) in a script: t itself gets a new history.
func (t *Tensor) MaskedFillInto(mask *Tensor) {
	n := t.w.record("MaskedFillBackward0", t)
	m := n.save(mask)
	t.w.Op("masked_fill_")
	t.w.Launch(t, mask)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.maskedFill(m.get())) })
	n.rebase(t)
	dropTemporaries(mask)
}

// IndexAddInto is t.index_add_(0, index, source): it adds the rows of source to the rows of t given by index.
func (t *Tensor) IndexAddInto(index, source *Tensor) {
	w := t.w
	n := w.record("IndexAddBackward0", t, source)
	n.saveIf(n.needsGrad(1), index)
	n.saveIf(n.needsGrad(1), source) // for its shape
	w.Op("index_add_")
	w.Launch(t, source)
	rows := source.size
	n.backward(func(g *Tensor) []*Tensor {
		var gs *Tensor
		if n.needsGrad(1) {
			w.Op("index_select")
			gs = w.Empty(rows, g.dtype)
			w.Launch(gs, gs)
		}
		return inputGrads(g, gs)
	})
	n.rebase(t)
	dropTemporaries(source)
}

// CopySlice copies source into a part of t. It is autograd's CopySlices, whose backward copies the whole gradient.
// Memory does not depend on which part it is.
func (t *Tensor) CopySlice(source *Tensor) {
	w := t.w
	n := w.record("CopySlices", t, source)
	w.Op("copy_")
	w.Launch(t, source)
	part, dt := source.size, source.dtype
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("new_empty_strided")
		result := w.Empty(g.size, g.dtype).Hold()
		w.Op("clone")
		back := w.Empty(part, g.dtype)
		if !n.needsGrad(0) {
			back = back.To(dt).Hold()
			result.Drop()
			return inputGrads(nil, back.loosen())
		}
		w.Op("zeros_like")
		zeros := w.Empty(part, g.dtype).Hold()
		back = back.To(dt)
		zeros.Drop()
		return inputGrads(result.loosen(), back)
	})
	n.rebase(t)
	dropTemporaries(source)
}
