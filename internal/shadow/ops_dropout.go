// SPDX-License-Identifier: Apache-2.0

package shadow

// Dropout is F.dropout: it allocates a mask of one byte per element, and the result. With p = 0, or outside
// training, it returns its input.
func (t *Tensor) Dropout(p float64) *Tensor {
	if p == 0 || t.w.Eval || t.w.Undropped {
		return t
	}
	w := t.w
	n := w.record("NativeDropoutBackward0", t)
	w.Op("native_dropout")
	mask := t.EmptyLike(Bool)
	out := t.EmptyLike(t.dtype)
	w.draws(out, t, mask)
	kept := n.save(mask)
	dropTemporaries(mask)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.withLayout("native_dropout_backward", kept.get())) })
	return n.result(out, t)
}
