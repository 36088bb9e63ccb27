// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that write in place. Their result is another tensor over the same memory, with the history that
// PyTorch gives the tensor that was written to.

// ScaleInPlace is t.mul_(number).
func (t *Tensor) ScaleInPlace() *Tensor {
	t.w.Op("mul_")
	return t.view("MulBackward0", t.size, t.stride, func(g *Tensor) *Tensor { return g.MulScalar() })
}

// MaskedFillInPlace is t.masked_fill_(mask, number).
func (t *Tensor) MaskedFillInPlace(mask *Tensor) *Tensor {
	n := t.w.record("MaskedFillBackward0", t)
	m := n.save(mask)
	t.w.Op("masked_fill_")
	out := t.alias(t.size, t.stride)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.maskedFill(m.get())) })
	return n.result(out, t, mask)
}

// Pick is torch.gather(t, -1, index) with a gradient, which is scattered into zeros.
func (t *Tensor) Pick(index *Tensor) *Tensor {
	w := t.w
	n := w.record("GatherBackward0", t)
	n.save(t) // gather_backward needs its shape
	n.save(index)
	w.Op("gather")
	out := w.Empty(index.size, t.dtype)
	w.Launch(out, index)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // grad.new_zeros(sizes).scatter_add_(dim, index, grad)
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype)
		w.Launch(zeros, g)
		return inputGrads(w.unlessInPlace("scatter_add", zeros))
	})
	return n.result(out, t, index)
}

// SumAs is t.sum(dims, dtype=dt).
func (t *Tensor) SumAs(dt DType, keep bool, dims ...int) *Tensor {
	n := t.w.record("SumBackward1", t)
	out := t.reduce("sum", dims, keep, dt)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.restore(from, dims, keep)) })
	return n.result(out, t)
}
