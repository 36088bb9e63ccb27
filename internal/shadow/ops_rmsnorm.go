// SPDX-License-Identifier: Apache-2.0

package shadow

// RMSNorm is F.rms_norm over the last dimension, by the fused kernel (_fused_rms_norm, 2.11). It keeps its input and
// one number per row in float32. weight may be nil.
func (t *Tensor) RMSNorm(weight *Tensor) *Tensor {
	w := t.w
	mark := w.pin(t)
	args := [2]*Tensor{t, weight}
	for i := 1; i >= 0; i-- {
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	out := args[0].rmsNorm(args[1])
	w.unpin(mark)
	return out
}

func (t *Tensor) rmsNorm(weight *Tensor) *Tensor {
	w := t.w
	n := w.record("FusedRmsNormBackward0", t, weight)
	input := n.save(t)
	n.saveIf(weight != nil, weight)
	w.Op("_fused_rms_norm")
	c := t.Contiguous().Hold()
	out := w.Empty(t.size, t.dtype)
	rstd := w.Empty(t.size.With(t.size.n-1, 1), Float32)
	w.Launch(out, t)
	if c != t {
		c.Drop()
	} else {
		c.loosen()
	}
	n.save(rstd)
	dropTemporaries(rstd)
	n.backward(func(g *Tensor) []*Tensor {
		dx, dw, _ := w.normGrad("_fused_rms_norm_backward", g, input.get(), weight, [3]bool{n.needsGrad(0), n.needsGrad(1), false})
		return inputGrads(dx, dw)
	})
	return n.result(out, t)
}
