// SPDX-License-Identifier: Apache-2.0

package shadow

// RMSNorm is F.rms_norm over the last dimension (aten/src/ATen/native/layer_norm.cpp, 2.11). It is one kernel if
// input and weight have the same type, otherwise a row of ops.
func (t *Tensor) RMSNorm(weight *Tensor) *Tensor {
	if t.dtype == weight.dtype {
		return t.fusedRMSNorm(weight)
	}
	w := t.w
	mark := w.pin(t)
	scale := t.rootMeanSquare()
	w.pin(scale)
	out := t.Mul(scale).Mul(weight)
	w.unpin(mark)
	return out
}

// rootMeanSquare is rsqrt(pow(t, 2).mean(-1).add_(eps)), whose temporaries live until the expression ends.
func (t *Tensor) rootMeanSquare() *Tensor {
	power := t.Pow()
	mark := t.w.pin(power)
	mean := power.Mean(true, -1)
	t.w.pin(mean)
	out := mean.plusInPlace().Rsqrt()
	t.w.unpin(mark)
	return out
}

// plusInPlace is t.add_(number).
func (t *Tensor) plusInPlace() *Tensor {
	t.w.Op("add_")
	return t.view("AddBackward0", t.size, t.stride, func(g *Tensor) *Tensor { return g })
}

// fusedRMSNorm is _fused_rms_norm: it keeps the input and one number per row.
func (t *Tensor) fusedRMSNorm(weight *Tensor) *Tensor {
	w := t.w
	n := w.record("FusedRmsNormBackward0", t, weight)
	input := n.save(t)
	n.save(weight)
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
