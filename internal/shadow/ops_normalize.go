// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops for losses over embeddings: F.normalize and logsumexp. Layer norm is in ops_layernorm.go, batch norm in
// ops_image.go.

// Normalize is F.normalize(t, dim=-1): t divided by its length.
func (t *Tensor) Normalize() *Tensor {
	fn := t.w.Func(t)
	denom := fn.Let(t.VectorNorm().ClampMin().ExpandAs(t.size))
	return fn.Return(t.Div(denom))
}

// VectorNorm is t.norm(2, -1, keepdim=True). Autocast casts its argument to float32.
func (t *Tensor) VectorNorm() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		n := t.w.record("LinalgVectorNormBackward0", t)
		self := n.save(t)
		out := t.reduce("linalg_vector_norm", []int{-1}, true, t.dtype)
		result := n.save(out)
		n.backward(func(g *Tensor) []*Tensor { // grad * (self / norm).masked_fill_(norm == 0, 0)
			unit := self.get().Div(result.get()).Hold()
			zero := result.get().Pointwise("eq", Bool).Hold()
			out := g.Mul(unit)
			zero.Drop()
			unit.Drop()
			return inputGrads(out)
		})
		return n.result(out, t)
	})
}

// ClampMin is t.clamp_min(number).
func (t *Tensor) ClampMin() *Tensor {
	n := t.w.record("ClampMinBackward0", t)
	self := n.save(t)
	out := t.Pointwise("clamp_min", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { // where(self >= min, grad, scalar_tensor(0))
		t.w.Op("scalar_tensor")
		zero := t.w.Empty(Dims(), g.dtype).Hold()
		above := self.get().Pointwise("ge", Bool).Hold()
		out := g.withLayout("where", above)
		above.Drop()
		zero.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// ClampMax is t.clamp(max=number).
func (t *Tensor) ClampMax() *Tensor {
	n := t.w.record("ClampBackward1", t)
	self := n.save(t)
	out := t.Pointwise("clamp", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { // where(self <= max, grad, scalar_tensor(0))
		t.w.Op("scalar_tensor")
		zero := t.w.Empty(Dims(), g.dtype).Hold()
		below := self.get().Pointwise("le", Bool).Hold()
		out := g.withLayout("where", below)
		below.Drop()
		zero.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// LogSumExp is torch.logsumexp(t, -1, keepdim=True). Autocast casts its argument to float32.
func (t *Tensor) LogSumExp() *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		w := t.w
		n := w.record("LogsumexpBackward0", t)
		self := n.save(t)
		w.Op("logsumexp")
		row := t.size.With(t.size.n-1, 1)
		most := w.Empty(row, t.dtype).Hold()
		size := w.alloc(most.Bytes()) // |most|, then a mask of its infinite elements
		w.Scratch(uint64(most.Numel()))
		w.release(size)
		shifted := w.alloc(t.Bytes())
		out := w.Empty(row, t.dtype)
		w.release(shifted)
		most.Drop()
		w.Launch(out, t)
		result := n.save(out)
		n.backward(func(g *Tensor) []*Tensor { // grad * (self - result).exp()
			diff := self.get().Sub(result.get()).Hold()
			exp := diff.Pointwise("exp", diff.dtype).Hold()
			out := g.Mul(exp)
			exp.Drop()
			diff.Drop()
			return inputGrads(out)
		})
		return n.result(out, t)
	})
}
