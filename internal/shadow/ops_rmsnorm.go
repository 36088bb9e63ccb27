// SPDX-License-Identifier: Apache-2.0

package shadow

// RMSNorm is F.rms_norm over the last dimension (aten/src/ATen/native/layer_norm.cpp, 2.11). If input and weight have
// the same type it is one kernel, otherwise a sequence of ops. weight may be nil.
func (t *Tensor) RMSNorm(weight *Tensor) *Tensor {
	w := t.w
	mark := w.pin(t)
	args := [2]*Tensor{t, weight}
	for i := 1; i >= 0; i-- {
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	norm := args[0].rmsNorm
	if args[1] != nil && args[0].dtype != args[1].dtype {
		norm = args[0].mixedRMSNorm
	}
	out := norm(args[1])
	w.unpin(mark)
	return out
}

// rmsNorm is _fused_rms_norm: it keeps its input and one number per row in float32.
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

// mixedRMSNorm computes the norm as separate ops, for a weight of a different type.
func (t *Tensor) mixedRMSNorm(weight *Tensor) *Tensor {
	scale := t.rootMeanSquare()
	mark := t.w.pin(scale)
	out := t.Mul(scale).Mul(weight)
	t.w.unpin(mark)
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
