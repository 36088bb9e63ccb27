// SPDX-License-Identifier: Apache-2.0

package shadow

// Liger's kernels for decoder layers (liger_kernel/ops, 0.8.5): the allocations of their autograd functions
// around Triton kernels, which allocate nothing themselves. Each is one node that keeps little besides its
// inputs, and overwrites tensors it no longer needs with gradients. An argument that is not row-major is copied
// first. Functions written in Python save tensors after they have run, unlike PyTorch's own ops.

// LigerRMSNorm is LigerRMSNormFunction: it saves the input and one number per row. Its backward
// overwrites the incoming gradient, except in Gemma 2, where another op still needs it.
func (t *Tensor) LigerRMSNorm(weight *Tensor, inPlace bool) *Tensor {
	w := t.w
	n := w.record("LigerRMSNormFunctionBackward", t, weight)
	defer w.NoGrad()()
	fn := w.Func(t, weight)
	w.Op("liger_rms_norm")
	x := fn.Let(t.Contiguous())
	w.Op("empty")
	out := fn.Let(w.Empty(x.size, x.dtype))
	rstd := fn.Let(w.Full(Float32, x.Numel()/x.Size(-1)))
	w.Op("rms_norm_kernel")
	w.Launch(out, x)
	input, scale := n.save(x), n.save(weight)
	n.save(rstd)
	n.backward(func(g *Tensor) []*Tensor { return n.ligerNormGrads(g, input.get(), scale.get(), inPlace) })
	return n.result(fn.Return(out), t)
}

// ligerNormGrads is rms_norm_backward. Each multiprocessor sums the weight's gradient over its rows; a second
// kernel adds these sums.
func (n *node) ligerNormGrads(g, x, weight *Tensor, inPlace bool) []*Tensor {
	w := g.w
	fn := w.Func(g)
	dy := fn.Let(g.Contiguous())
	var parts, dx, dw *Tensor
	if n.needsGrad(1) {
		parts = fn.Let(w.Full(Float32, w.Rules.LigerNormPartials(), dy.Size(-1)))
	}
	if inPlace {
		dx = fn.Let(dy.alias(dy.size, dy.stride))
	} else {
		w.Op("zeros_like")
		dx = fn.Let(dy.EmptyLike(dy.dtype))
	}
	w.Launch(dx, dy, x)
	if parts != nil {
		dw = parts.Sum(false, 0).To(weight.dtype)
	}
	return inputGrads(fn.Return2(dx, dw))
}

// LigerGLU is LigerSiLUMulFunction or LigerGELUMulFunction: activation(t) * up. Both inputs are kept, and
// overwritten with their gradients.
func (t *Tensor) LigerGLU(up *Tensor) *Tensor {
	w := t.w
	n := w.record("LigerSiLUMulFunctionBackward", t, up)
	defer w.NoGrad()()
	fn := w.Func(t, up)
	a, b := fn.Let2(t.Contiguous(), up.Contiguous())
	out := fn.Let(a.Pointwise("empty_like", a.dtype))
	w.Launch(b)
	gate, times := n.save(a), n.save(b)
	n.backward(func(g *Tensor) []*Tensor {
		fn := w.Func(g)
		fn.Let(g.Contiguous())
		a, b := gate.get(), times.get()
		w.Launch(g, a, a, b, b)
		return inputGrads(fn.Return2(a.alias(a.size, a.stride), b.alias(b.size, b.stride)))
	})
	return n.result(fn.Return(out), t, up)
}

// LigerRope is LigerRopeFunction: queries and keys (B, H, S, D) are rotated in place
// if they are stored as (B, S, H, D), and so are their gradients.
func LigerRope(q, k, cos, sin *Tensor) (*Tensor, *Tensor) {
	w := q.w
	n := w.record("LigerRopeFunctionBackward", q, k)
	defer w.NoGrad()()
	fn := w.Func(q, k)
	qr, kr := fn.Let2(ligerRotate(q, k))
	n.save(cos)
	n.save(sin)
	n.backwards(func(g []*Tensor) []*Tensor { return inputGrads(ligerRotate(g[0], g[1])) })
	n.output(qr, 0)
	n.output(kr, 1)
	qr, kr = fn.Return2(qr, kr)
	dropTemporaries(q, k)
	return qr, kr
}

// ligerRotate is both rope_forward and rope_backward.
func ligerRotate(q, k *Tensor) (*Tensor, *Tensor) {
	w := q.w
	fn := w.Func(q, k)
	fn.Set(&q, q.Transpose(1, 2))
	fn.Set(&k, k.Transpose(1, 2))
	fn.Set(&q, q.Contiguous())
	fn.Set(&k, k.Contiguous())
	w.Op("rope")
	w.Launch(q, q, k, k)
	return fn.Return2(q.Transpose(1, 2), k.Transpose(1, 2))
}
