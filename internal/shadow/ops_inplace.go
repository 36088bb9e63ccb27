// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that write in place. Their result is another tensor over the same memory, with the history that
// PyTorch gives the tensor that was written to. Ops that keep the tensor itself, as scripts need them, are in
// ops_rebase.go; in-place methods that take no memory are writes in script/tensors.go.

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
