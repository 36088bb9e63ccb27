// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that select and compare element by element.

// Where is torch.where(cond, t, number). The number becomes a tensor of one
// element first.
func Where(cond, t *Tensor) *Tensor {
	n := t.w.record("WhereBackward0", t)
	kept := n.save(cond)
	out := cond.orNumber(t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(kept.get().orNumber(g)) })
	return n.result(out, cond, t)
}

// orNumber allocates the result of where(cond, t, number).
func (cond *Tensor) orNumber(t *Tensor) *Tensor {
	w := cond.w
	w.Op("scalar_tensor")
	number := w.alloc(t.dtype.Bytes())
	size := broadcast(cond.size, t.size)
	w.Op("where")
	out := w.emptyStrided(size, iterStrides(size, cond, t), t.dtype)
	w.Launch(out, cond, t)
	w.release(number)
	return out
}

// WhereBoth is torch.where(cond, a, b) on tensors that need no gradient.
func WhereBoth(cond, a, b *Tensor) *Tensor {
	size := broadcast(broadcast(cond.size, a.size), b.size)
	cond.w.Op("where")
	out := cond.w.emptyStrided(size, iterStrides(size, cond, a, b), promote(a.dtype, b.dtype))
	cond.w.Launch(out, cond, a, b)
	dropTemporaries(cond, a, b)
	return out
}

// CompareWith compares two tensors, as in t >= o.
func (t *Tensor) CompareWith(op string, o *Tensor) *Tensor {
	out := t.binary(op, o, Bool)
	dropTemporaries(t, o)
	return out
}

// Minimum is torch.minimum of tensors that need no gradient.
func (t *Tensor) Minimum(o *Tensor) *Tensor {
	out := t.binary("minimum", o, promote(t.dtype, o.dtype))
	dropTemporaries(t, o)
	return out
}

// Abs is torch.abs of a tensor that needs no gradient.
func (t *Tensor) Abs() *Tensor { return t.plain("abs", t.dtype) }

// LogPlain is torch.log of a tensor that needs no gradient.
func (t *Tensor) LogPlain() *Tensor { return t.plain("log", t.dtype) }

// FullLike is torch.full_like or zeros_like.
func (t *Tensor) FullLike() *Tensor { return t.plain("full_like", t.dtype) }

// AddTo is t += o outside the graph, which allocates nothing.
func (t *Tensor) AddTo(o *Tensor) {
	t.w.Op("add_")
	t.w.Launch(t, o)
	dropTemporaries(o, t)
}

// ClampInfinities does what models do to float16 activations: it checks for infinite values, chooses a bound
// accordingly, and clamps to plus and minus that bound.
func (t *Tensor) ClampInfinities() *Tensor {
	w := t.w
	fn := w.Func(t)
	bound := fn.Let(w.infinityBound(t))
	low := fn.Let(bound.Pointwise("neg", bound.dtype))
	n := w.record("ClampBackward1", t)
	n.save(bound)
	n.save(low)
	self := n.save(t)
	out := t.Pointwise("clamp", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.clampGrad(self.get(), g.dtype)) })
	n.output(out, 0)
	return fn.Return(out)
}

// infinityBound is where(isinf(t).any(), one number, another).
func (w *World) infinityBound(t *Tensor) *Tensor {
	inf := t.Pointwise("isinf", Bool).Hold()
	any := inf.reduce("any", allDims(t.size), false, Bool).Hold()
	inf.Drop()
	numbers := [2]*Tensor{w.Full(Float32).Hold(), w.Full(Float32).Hold()}
	w.Op("where")
	out := w.Empty(Dims(), Float32)
	numbers[0].Drop()
	numbers[1].Drop()
	any.Drop()
	return out
}
