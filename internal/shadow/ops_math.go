// SPDX-License-Identifier: Apache-2.0

package shadow

// Functions of one tensor, with their gradients. Arithmetic and activations are in ops_pointwise.go,
// reductions in ops_reduce.go.

// Log is torch.log. Autocast casts its argument to float32.
func (t *Tensor) Log() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("LogBackward0", t)
		self := n.save(t)
		out := t.Pointwise("log", floatOf(t.dtype))
		n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Div(self.get())) })
		return n.result(out, t)
	})
}

// Log1p is torch.log1p. Autocast casts its argument to float32.
func (t *Tensor) Log1p() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("Log1PBackward0", t)
		self := n.save(t)
		out := t.Pointwise("log1p", floatOf(t.dtype))
		n.backward(func(g *Tensor) []*Tensor { // grad / (self + 1)
			more := self.get().Pointwise("add", self.get().dtype).Hold()
			out := g.Div(more)
			more.Drop()
			return inputGrads(out)
		})
		return n.result(out, t)
	})
}

// floatOf returns the type of a function's result: integers become float32.
func floatOf(dt DType) DType {
	if dt.Floating() {
		return dt
	}
	return Float32
}

// Sqrt is torch.sqrt.
func (t *Tensor) Sqrt() *Tensor {
	n := t.w.record("SqrtBackward0", t)
	out := t.Pointwise("sqrt", floatOf(t.dtype))
	result := n.save(out)
	n.backward(func(g *Tensor) []*Tensor { // grad / (2 * result)
		twice := result.get().Pointwise("mul", result.get().dtype).Hold()
		out := g.Div(twice)
		twice.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// AbsGrad is torch.abs.
func (t *Tensor) AbsGrad() *Tensor {
	n := t.w.record("AbsBackward0", t)
	self := n.save(t)
	out := t.Pointwise("abs", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { // grad * self.sgn()
		sign := self.get().Pointwise("sgn", self.get().dtype).Hold()
		out := g.Mul(sign)
		sign.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// Reciprocal is number / t. Autocast casts its argument to float32.
func (t *Tensor) Reciprocal() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("ReciprocalBackward0", t)
		out := t.Pointwise("reciprocal", floatOf(t.dtype))
		result := n.save(out)
		n.backward(func(g *Tensor) []*Tensor { // -grad * (result * result)
			r := result.get()
			square := r.Mul(r).Hold()
			neg := g.Pointwise("neg", g.dtype).Hold()
			out := neg.Mul(square)
			neg.Drop()
			square.Drop()
			return inputGrads(out)
		})
		return n.result(out, t)
	})
}

// LogSigmoid is F.logsigmoid. The buffer it keeps is empty on a GPU.
func (t *Tensor) LogSigmoid() *Tensor { return t.keepsInput("log_sigmoid", "LogSigmoidBackward0") }

// Cosine is torch.cos or torch.sin. Their gradients need the input.
func (t *Tensor) Cosine(op string) *Tensor {
	n := t.w.record("CosBackward0", t)
	self := n.save(t)
	out := t.Pointwise(op, floatOf(t.dtype))
	n.backward(func(g *Tensor) []*Tensor {
		other := self.get().Pointwise("sin", self.get().dtype).Hold()
		var neg *Tensor
		if op == "cos" { // grad * -self.sin()
			neg = other.Pointwise("neg", other.dtype).Hold()
			out := g.Mul(neg)
			neg.Drop()
			other.Drop()
			return inputGrads(out)
		}
		out := g.Mul(other)
		other.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// PowBy is t ** o for tensors without gradients.
func (t *Tensor) PowBy(o *Tensor) *Tensor {
	out := t.binary("pow", o, resultType(t, o))
	dropTemporaries(t, o)
	return out
}

// NormOver is torch.linalg.vector_norm(t, 2, dims). Under autocast its result is float32.
func (t *Tensor) NormOver(keep bool, dims ...int) *Tensor {
	n := t.w.record("LinalgVectorNormBackward0", t)
	self := n.save(t)
	out := t.reduce(vectorNorm, dims, keep, t.w.summed(t.dtype))
	result := n.save(out)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // grad * (self / norm).masked_fill_(norm == 0, 0)
		wide, norm := g.restoreKept(from, dims, keep).Hold(), result.get().restoreKept(from, dims, keep).Hold()
		unit := self.get().Div(norm).Hold()
		zero := norm.Pointwise("eq", Bool).Hold()
		out := wide.Mul(unit)
		for _, t := range []*Tensor{zero, unit, norm, wide} {
			t.Drop()
		}
		return inputGrads(out)
	})
	return n.result(out, t)
}

// NormAll is torch.norm(t), of all elements. Unlike NormOver, its backward expands nothing.
func (t *Tensor) NormAll() *Tensor {
	n := t.w.record("LinalgVectorNormBackward0", t)
	self := n.save(t)
	out := t.reduce(vectorNorm, allDims(t.size), false, t.w.summed(t.dtype))
	result := n.save(out)
	n.backward(func(g *Tensor) []*Tensor {
		unit := self.get().Div(result.get()).Hold()
		zero := result.get().Pointwise("eq", Bool).Hold()
		out := g.Mul(unit)
		zero.Drop()
		unit.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// NormalizeOver is F.normalize(t, dim=dim): t divided by its length.
func (t *Tensor) NormalizeOver(dim int) *Tensor {
	fn := t.w.Func(t)
	denom := fn.Let(t.NormOver(true, dim).ClampMin().ExpandAs(t.size))
	return fn.Return(t.Div(denom))
}

// LogSumExpOver is torch.logsumexp(t, dims, keepdim). Autocast casts its argument to float32.
func (t *Tensor) LogSumExpOver(keep bool, dims ...int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		w := t.w
		n := w.record("LogsumexpBackward0", t)
		self := n.save(t)
		w.Op("logsumexp")
		most := t.reduce("amax", dims, true, t.dtype).Hold()
		size := w.alloc(most.Bytes()) // |most|, then a mask of its infinite elements
		w.Scratch(uint64(most.Numel()))
		w.release(size)
		shifted := t.binary("sub", most, t.dtype).Hold()
		out := shifted.reduce("sum", dims, keep, t.dtype)
		shifted.Drop()
		most.Drop()
		w.Launch(out, t)
		result := n.save(out)
		from := t.size
		n.backward(func(g *Tensor) []*Tensor { // grad * (self - result).exp()
			wide, sum := g.restoreKept(from, dims, keep).Hold(), result.get().restoreKept(from, dims, keep).Hold()
			diff := self.get().Sub(sum).Hold()
			exp := diff.Pointwise("exp", diff.dtype).Hold()
			out := wide.Mul(exp)
			for _, t := range []*Tensor{exp, diff, sum, wide} {
				t.Drop()
			}
			return inputGrads(out)
		})
		return n.result(out, t)
	})
}

// Spread is t.var(dims) or t.std(dims).
func (t *Tensor) Spread(op string, keep bool, dims ...int) *Tensor {
	n := t.w.record("VarBackward0", t)
	self := n.save(t)
	out := t.reduce(op, dims, keep, t.dtype)
	var result *saved
	if op == "std" {
		result = n.save(out)
	}
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // (2 / (N - 1)) * grad * (self - self.mean(dims, true)); std divides first
		wide := g.restoreKept(from, dims, keep).Hold()
		if result != nil { // grad / (2 * result), where that is not zero
			twice := result.get().Pointwise("mul", g.dtype).Hold()
			share := g.Div(twice).Hold()
			result.get().Pointwise("eq", Bool).Hold().Drop()
			twice.Drop()
			wide.Drop()
			wide = share.restoreKept(from, dims, keep).Hold()
			share.Drop()
		}
		mean := self.get().reduce("mean", dims, true, g.dtype).Hold()
		diff := self.get().Sub(mean).Hold()
		scaled := wide.Pointwise("mul", g.dtype).Hold()
		out := scaled.Mul(diff)
		for _, t := range []*Tensor{scaled, diff, mean, wide} {
			t.Drop()
		}
		return inputGrads(out)
	})
	return n.result(out, t)
}

// Any is t.any(dims) or t.all(dims). The result has one byte per element.
func (t *Tensor) Any(keep bool, dims ...int) *Tensor {
	out := t.reduce("any", dims, keep, Bool)
	dropTemporaries(t)
	return out
}

// Plain is an op with a result of the same shape and no gradient.
func (t *Tensor) Plain(op string, dt DType) *Tensor { return t.plain(op, dt) }

// Extremum is torch.maximum or minimum of two tensors. The gradient of a tie is shared.
func (t *Tensor) Extremum(op string, o *Tensor) *Tensor {
	n := t.w.record("MaximumBackward0", t, o)
	other, self := n.save(o), n.save(t)
	out := t.binary(op, o, resultType(t, o))
	n.backward(func(g *Tensor) []*Tensor { // at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)
		var grads [2]*Tensor
		for _, i := range []int{1, 0} {
			if !n.needsGrad(i) {
				continue
			}
			half := g.Pointwise("div", g.dtype).Hold()
			equal := self.get().binary("eq", other.get(), Bool).Hold()
			grads[i] = g.withLayout("where", equal)
			self.get().binary("lt", other.get(), Bool).Hold().Drop()
			equal.Drop()
			half.Drop()
		}
		return inputGrads(grads[0], grads[1])
	})
	return n.result(out, t, o)
}

// Mv is a matrix times a vector.
func (t *Tensor) Mv(o *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, o}, func(a []*Tensor) *Tensor { return a[0].mv(a[1]) })
}

func (t *Tensor) mv(o *Tensor) *Tensor {
	w := t.w
	n := w.record("MvBackward0", t, o)
	vec := n.saveIf(n.needsGrad(0), o)
	self := n.saveIf(n.needsGrad(1), t)
	w.Op("mv")
	out := w.Empty(Dims(t.size.d[0]), t.dtype)
	w.cublas()
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if vec != nil { // grad.ger(vec)
			ga = g.Unsqueeze(1).binary("mul", vec.get(), g.dtype)
		}
		if self != nil {
			gb = self.get().T().mv(g)
		}
		return inputGrads(ga, gb)
	})
	return n.result(out, t, o)
}

// Dot is the product of two vectors.
func (t *Tensor) Dot(o *Tensor) *Tensor {
	w := t.w
	n := w.record("DotBackward0", t, o)
	other, self := n.saveIf(n.needsGrad(0), o), n.saveIf(n.needsGrad(1), t)
	w.Op("dot")
	out := w.Empty(Dims(), t.dtype)
	w.cublas()
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if other != nil {
			ga = g.Mul(other.get())
		}
		if self != nil {
			gb = g.Mul(self.get())
		}
		return inputGrads(ga, gb)
	})
	return n.result(out, t, o)
}
