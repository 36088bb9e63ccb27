// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that write in place. They return another tensor that shares the memory and has the history that PyTorch
// gives the tensor written to. The variants that scripts need, which keep the tensor itself, are in
// ops_rebase.go; in-place methods that allocate nothing are writes in script/tensors.go.

// ScaleInPlace is t.mul_(number).
func (t *Tensor) ScaleInPlace() *Tensor {
	t.w.Op("mul_")
	return t.view("MulBackward0", t.size, t.stride, func(g *Tensor) *Tensor { return g.MulScalar() })
}

// MaskedFillInPlace is t.masked_fill_(mask, number). The result is another tensor with the same memory, even if t needs no
// gradient. No kernel is counted for it.
func (t *Tensor) MaskedFillInPlace(mask *Tensor) *Tensor {
	n := t.w.record("MaskedFillBackward0", t)
	m := n.save(mask)
	t.w.Op("masked_fill_")
	out := t.alias(t.size, t.stride)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.maskedFill(m.get())) })
	return n.result(out, t, mask)
}
