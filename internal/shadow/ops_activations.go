// SPDX-License-Identifier: Apache-2.0

package shadow

// Activations other than the usual ones of language models, and activations in place.

// Activation is an activation that keeps its input, such as mish, hardswish or hardtanh.
func (t *Tensor) Activation(op string) *Tensor { return t.keepsInput(op, op) }

// ActivationInPlace is an activation in place whose gradient is computed from its result: relu_, leaky_relu_, elu_,
// hardtanh_. The result uses the memory of the argument.
func (t *Tensor) ActivationInPlace(op string) *Tensor {
	return t.activateInPlace(op, op+"_", op+"_backward")
}

func (t *Tensor) activateInPlace(name, op, backward string) *Tensor {
	view := t.viewsAll()
	n := t.w.record(name, t)
	t.w.Op(op)
	t.w.Launch(t)
	if n == nil {
		return t
	}
	out := t.alias(t.size, t.stride)
	result := n.save(out)
	n.backward(func(g *Tensor) []*Tensor {
		if view {
			return inputGrads(g.throughSlice(backward, result.get()))
		}
		return inputGrads(g.withLayout(backward, result.get()))
	})
	if out = n.result(out, t); view {
		return out.stridedAgain()
	}
	return out
}

// viewsAll reports whether t is a view of all elements of another tensor, so that writing to it changes that tensor's history.
func (t *Tensor) viewsAll() bool { return t.fn != nil && t.fn.name == "ViewBackward0" }

// stridedAgain is the history of a view after it was written to: it is a view of the whole tensor, whose gradient is a copy.
func (t *Tensor) stridedAgain() *Tensor {
	return t.view("AsStridedBackward0", t.size, t.stride, func(g *Tensor) *Tensor {
		g.w.Op("new_zeros")
		return g.w.Empty(g.size, g.dtype)
	})
}

// throughSlice is the backward of autograd's CopySlices, the history of a view that was written to: the gradient of the
// whole tensor is copied, and the part that was written to is computed from a copy and copied back.
func (g *Tensor) throughSlice(op string, saved *Tensor) *Tensor {
	w := g.w
	w.Op("new_empty_strided")
	whole := w.Empty(g.size, g.dtype).Hold()
	w.Op("clone")
	part := w.Empty(g.size, g.dtype).Hold()
	part.withLayout(op, saved).Hold().Drop()
	part.Drop()
	return whole.loosen()
}

// ActivationOverCopy is an activation in place whose gradient needs the argument, which is copied first: silu_, mish_,
// hardswish_.
func (t *Tensor) ActivationOverCopy(op string) *Tensor {
	view := t.viewsAll()
	n := t.w.record(op, t)
	if n == nil {
		t.w.Op(op + "_")
		t.w.Launch(t)
		return t
	}
	t.w.Op("clone")
	before := t.EmptyLike(t.dtype)
	self := n.save(before)
	dropTemporaries(before)
	t.w.Op(op + "_")
	t.w.Launch(t)
	out := t.alias(t.size, t.stride)
	n.backward(func(g *Tensor) []*Tensor {
		if view {
			return inputGrads(g.throughSlice(op+"_backward", self.get()))
		}
		return inputGrads(g.withLayout(op+"_backward", self.get()))
	})
	if out = n.result(out, t); view {
		return out.stridedAgain()
	}
	return out
}

// GLU is F.glu: half of t along a dimension times the sigmoid of the other half.
func (t *Tensor) GLU(dim int) *Tensor {
	w := t.w
	dim = t.size.at(dim)
	n := w.record("GluBackward0", t)
	self := n.save(t)
	w.Op("glu")
	out := w.Empty(t.size.With(dim, t.size.d[dim]/2), t.dtype)
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("glu_backward")
		dx := w.Empty(self.get().size, g.dtype)
		w.Launch(dx, g)
		return inputGrads(dx)
	})
	return n.result(out, t)
}

// PReLU is F.prelu. Its weight has one element, or one per channel; the weight's gradient is computed for each element of t
// and then summed.
func (t *Tensor) PReLU(weight *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight}, func(a []*Tensor) *Tensor { return a[0].prelu(a[1]) })
}

func (t *Tensor) prelu(weight *Tensor) *Tensor {
	shaped := weight
	if t.size.n != 1 || weight.Numel() != 1 {
		size := make([]int, t.size.n)
		for i := range size {
			size[i] = 1
		}
		if t.size.n > 1 {
			size[1] = weight.Numel()
		}
		shaped = weight.View(size...)
	}
	w := t.w
	n := w.record("PreluKernelBackward0", t, shaped)
	self := n.save(t)
	n.save(shaped)
	out := t.binary("_prelu_kernel", shaped, t.dtype)
	n.backward(func(g *Tensor) []*Tensor {
		x := self.get()
		w.Op("_prelu_kernel_backward")
		dx := w.Empty(x.size, x.dtype)
		dw := w.Empty(x.size, x.dtype)
		w.Launch(dx, dw, g)
		return inputGrads(dx, dw)
	})
	return n.result(out, t, shaped)
}
