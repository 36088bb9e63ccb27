// SPDX-License-Identifier: Apache-2.0

package shadow

// WeightNorm is torch._weight_norm(t, g, 0): g times t over its norms (native/cuda/WeightNorm.cu).
func (t *Tensor) WeightNorm(g *Tensor) *Tensor {
	w := t.w
	n := w.record("WeightNormInterfaceBackward0", t, g)
	v, scale := n.save(t), n.save(g)
	w.Op("_weight_norm_interface")
	out := w.Empty(t.size, t.dtype)
	dt := g.dtype
	if dt.Bytes() == 2 {
		dt = Float32
	}
	norms := w.Empty(g.size, dt).Hold()
	w.Launch(out, t)
	n.save(norms)
	norms.Drop()
	n.backward(func(grad *Tensor) []*Tensor {
		mark := w.pin(grad.Contiguous())
		w.Op("_weight_norm_interface_backward")
		dv := w.Empty(v.get().size, t.dtype)
		dg := w.Empty(scale.get().size, g.dtype)
		w.Launch(dv, grad)
		w.unpin(mark)
		return inputGrads(dv, dg)
	})
	return n.result(out, t, g)
}
