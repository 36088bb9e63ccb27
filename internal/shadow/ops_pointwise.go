// SPDX-License-Identifier: Apache-2.0

package shadow

// Pointwise ops. C++ formulas keep each temporary until the whole expression is done, while Python drops it as
// soon as it is used. The formulas below use Hold and Drop where a temporary lives longer.

// resultType returns the type that two operands promote to. A zero-dimensional tensor does not widen one that has
// dimensions.
func resultType(a, b *Tensor) DType {
	switch {
	case a.size.n == 0 && b.size.n > 0 && b.dtype.Floating():
		return b.dtype
	case b.size.n == 0 && a.size.n > 0 && a.dtype.Floating():
		return a.dtype
	}
	return promote(a.dtype, b.dtype)
}

// binary allocates the result of a pointwise op on two tensors.
func (t *Tensor) binary(op string, o *Tensor, dt DType) *Tensor {
	size := broadcast(t.size, o.size)
	t.w.Op(op)
	out := t.w.emptyStrided(size, iterStrides(size, t, o), dt)
	t.w.Launch(out, t, o)
	return out
}

// Pointwise allocates the result of a pointwise op on one tensor, of type dt. It records nothing for
// backward and does not drop t.
func (t *Tensor) Pointwise(op string, dt DType) *Tensor {
	t.w.Op(op)
	out := t.EmptyLike(dt)
	t.w.Launch(out, t)
	return out
}

// Add is t + o.
func (t *Tensor) Add(o *Tensor) *Tensor {
	n := t.w.record("AddBackward0", t, o)
	out := t.binary("add", o, resultType(t, o))
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g, g) })
	return n.result(out, t, o)
}

// AddOf is t + of(): Python holds t on its stack while it computes the other operand.
func (t *Tensor) AddOf(of func() *Tensor) *Tensor {
	mark := t.w.pin(t)
	out := t.Add(of())
	t.w.unpin(mark)
	return out
}

// Sub is t - o.
func (t *Tensor) Sub(o *Tensor) *Tensor {
	n := t.w.record("SubBackward0", t, o)
	out := t.binary("sub", o, resultType(t, o))
	other := n.needsGrad(1)
	n.backward(func(g *Tensor) []*Tensor {
		if !other {
			return inputGrads(g, nil)
		}
		return inputGrads(g, g.Pointwise("neg", g.dtype))
	})
	return n.result(out, t, o)
}

// Mul is t * o.
func (t *Tensor) Mul(o *Tensor) *Tensor {
	n := t.w.record("MulBackward0", t, o)
	other := n.saveIf(n.needsGrad(0), o)
	self := n.saveIf(n.needsGrad(1), t)
	out := t.binary("mul", o, resultType(t, o))
	n.backward(func(g *Tensor) []*Tensor {
		var gs, g2 *Tensor
		if self != nil {
			g2 = g.Mul(self.get())
		}
		if other != nil {
			gs = g.Mul(other.get())
		}
		return inputGrads(gs, g2)
	})
	return n.result(out, t, o)
}

// MulComplex is the product of complex numbers, whose parts are the last dimension of t and o. The gradient needs o
// conjugated, which is a copy, and must be contiguous. o has no gradient.
func (t *Tensor) MulComplex(o *Tensor) *Tensor {
	n := t.w.record("MulBackward0", t)
	other := n.save(o)
	out := t.binary("mul", o, t.dtype)
	n.backward(func(g *Tensor) []*Tensor {
		g = g.Contiguous().Hold()
		conj := other.get().Clone().Hold()
		gs := g.binary("mul", conj, g.dtype)
		conj.Drop()
		g.Drop()
		return inputGrads(gs)
	})
	return n.result(out, t, o)
}

// Div is t / o. Integer operands produce a float.
func (t *Tensor) Div(o *Tensor) *Tensor {
	n := t.w.record("DivBackward0", t, o)
	other := n.save(o)
	self := n.saveIf(n.needsGrad(1), t)
	dt := resultType(t, o)
	if !dt.Floating() {
		dt = Float32
	}
	out := t.binary("div", o, dt)
	n.backward(divGrads(n, other, self))
	return n.result(out, t, o)
}

// divGrads returns the gradients of a quotient: -grad * ((self / other) / other) and
// grad / other.
func divGrads(n *node, other, self *saved) func(g *Tensor) []*Tensor {
	return func(g *Tensor) []*Tensor {
		var gs, g2 *Tensor
		if self != nil {
			a := self.get().Div(other.get()).Hold()
			b := a.Div(other.get()).Hold()
			neg := g.Pointwise("neg", g.dtype).Hold()
			g2 = neg.Mul(b)
			neg.Drop()
			b.Drop()
			a.Drop()
		}
		if n.needsGrad(0) {
			gs = g.Div(other.get())
		}
		return inputGrads(gs, g2)
	}
}

// AddScalar is t + number.
func (t *Tensor) AddScalar() *Tensor {
	n := t.w.record("AddBackward0", t)
	out := t.Pointwise("add", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g) })
	return n.result(out, t)
}

// MulScalar is t * number. DivScalar allocates the same memory.
func (t *Tensor) MulScalar() *Tensor {
	n := t.w.record("MulBackward0", t)
	out := t.Pointwise("mul", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.MulScalar()) })
	return n.result(out, t)
}

// DivScalar is t / number.
func (t *Tensor) DivScalar() *Tensor { return t.MulScalar() }

// RSubScalar is number - t.
func (t *Tensor) RSubScalar() *Tensor {
	n := t.w.record("RsubBackward1", t)
	out := t.Pointwise("rsub", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Pointwise("neg", g.dtype)) })
	return n.result(out, t)
}

// Neg is -t.
func (t *Tensor) Neg() *Tensor {
	n := t.w.record("NegBackward0", t)
	out := t.Pointwise("neg", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Neg()) })
	return n.result(out, t)
}

// Pow is t ** number. Autocast casts its argument to float32.
func (t *Tensor) Pow() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("PowBackward0", t)
		self := n.save(t)
		out := t.Pointwise("pow", t.dtype)
		// grad * (exponent * self.pow(exponent - 1))
		n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.timesPower(self.get())) })
		return n.result(out, t)
	})
}

// Rsqrt is 1 / sqrt(t). Autocast casts its argument to float32.
func (t *Tensor) Rsqrt() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("RsqrtBackward0", t)
		out := t.Pointwise("rsqrt", t.dtype)
		result := n.save(out)
		// grad * (-0.5 * result.pow(3))
		n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.timesPower(result.get())) })
		return n.result(out, t)
	})
}

// timesPower returns g times a number times a power of t, in one C++ expression.
func (g *Tensor) timesPower(t *Tensor) *Tensor {
	p := t.Pointwise("pow", t.dtype).Hold()
	q := p.MulScalar().Hold()
	out := g.Mul(q)
	q.Drop()
	p.Drop()
	return out
}

// inFloat32 runs an op that autocast computes in float32.
func (t *Tensor) inFloat32(run func(t *Tensor) *Tensor) *Tensor {
	mark := t.w.pin(t)
	c := t.w.toFloat32(t)
	t.w.pin(c)
	out := run(c)
	t.w.unpin(mark)
	return out
}

// keepsInput returns the result of an activation whose backward needs its input.
func (t *Tensor) keepsInput(op, node string) *Tensor {
	n := t.w.record(node, t)
	self := n.save(t)
	out := t.Pointwise(op, t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.withLayout(op+"_backward", self.get())) })
	return n.result(out, t)
}

// keepsOutput returns the result of an activation whose backward needs that result.
func (t *Tensor) keepsOutput(op, node string) *Tensor {
	n := t.w.record(node, t)
	out := t.Pointwise(op, t.dtype)
	result := n.save(out)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.withLayout(op+"_backward", result.get())) })
	return n.result(out, t)
}

// withLayout allocates a gradient computed from g and a saved tensor. It has g's layout, except for activations whose
// kernel is called with the saved tensor first (TORCH_META_FUNC in native/Activation.cpp).
func (g *Tensor) withLayout(op string, other *Tensor) *Tensor {
	switch op {
	case "relu_backward", "threshold_backward", "leaky_relu_backward":
		return other.binary(op, g, g.dtype)
	}
	return g.binary(op, other, g.dtype)
}

// SiLU is F.silu; its backward needs the input.
func (t *Tensor) SiLU() *Tensor { return t.keepsInput("silu", "SiluBackward0") }

// GELU is F.gelu, exact or with tanh; its backward needs the input.
func (t *Tensor) GELU() *Tensor { return t.keepsInput("gelu", "GeluBackward0") }

// Softplus keeps its input.
func (t *Tensor) Softplus() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.keepsInput("softplus", "SoftplusBackward0") })
}

// Tanh keeps its result.
func (t *Tensor) Tanh() *Tensor { return t.keepsOutput("tanh", "TanhBackward0") }

// ReLU keeps its result.
func (t *Tensor) ReLU() *Tensor { return t.keepsOutput("relu", "ReluBackward0") }

// Sigmoid keeps its result.
func (t *Tensor) Sigmoid() *Tensor { return t.keepsOutput("sigmoid", "SigmoidBackward0") }

// Exp saves its result. Autocast casts its argument to float32.
func (t *Tensor) Exp() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.keepsOutput("exp", "ExpBackward0") })
}

// Expm1 is torch.expm1, which saves its result. Autocast casts its argument to float32.
func (t *Tensor) Expm1() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("Expm1Backward0", t)
		out := t.Pointwise("expm1", t.dtype)
		result := n.save(out)
		n.backward(func(g *Tensor) []*Tensor { // grad * (result + 1)
			more := result.get().Pointwise("add", out.dtype).Hold()
			grad := g.withLayout("mul", more)
			more.Drop()
			return inputGrads(grad)
		})
		return n.result(out, t)
	})
}

// Cos is torch.cos of position angles, which need no gradient.
func (t *Tensor) Cos() *Tensor { return t.plain("cos", t.dtype) }

// Sin is torch.sin of position angles.
func (t *Tensor) Sin() *Tensor { return t.plain("sin", t.dtype) }

// plain returns the result of a pointwise op without a gradient.
func (t *Tensor) plain(op string, dt DType) *Tensor {
	out := t.Pointwise(op, dt)
	dropTemporaries(t)
	return out
}

// Compare is ==, <, >= and the like against a number.
func (t *Tensor) Compare(op string) *Tensor { return t.plain(op, Bool) }

// MaskedFill is t.masked_fill(mask, number): it fills a row-major copy.
func (t *Tensor) MaskedFill(mask *Tensor) *Tensor {
	n := t.w.record("MaskedFillBackward0", t)
	m := n.save(mask)
	out := t.maskedFill(mask)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.maskedFill(m.get())) })
	return n.result(out, t, mask)
}

func (t *Tensor) maskedFill(mask *Tensor) *Tensor {
	t.w.Op("masked_fill")
	out := t.w.Empty(broadcast(t.size, mask.size), t.dtype)
	t.w.Launch(out, t, mask)
	return out
}
