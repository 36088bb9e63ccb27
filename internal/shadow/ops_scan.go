// SPDX-License-Identifier: Apache-2.0

package shadow

// Cumulative sums, and other ops of state-space models.

// CumsumDim is torch.cumsum(t, dim) for floats. The kernel's input and output are row-major. Its backward sums
// from the other end.
func (t *Tensor) CumsumDim(dim int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor {
		dim := t.size.at(dim)
		n := t.w.record("CumsumBackward0", t)
		out := t.cumsum()
		n.backward(func(g *Tensor) []*Tensor { // grad.flip(dim).cumsum(dim).flip(dim)
			a := g.Pointwise("flip", g.dtype).Hold()
			b := a.cumsum().Hold()
			out := b.Pointwise("flip", g.dtype)
			b.Drop()
			a.Drop()
			return inputGrads(out)
		})
		if t.Numel() == t.size.d[dim] { // CUB scans a single row
			t.w.kernelScratch(t.w.Rules.Scan(t.Numel(), int(t.dtype.Bytes())))
		}
		return n.result(out, t)
	})
}

func (t *Tensor) cumsum() *Tensor {
	t.w.Op("cumsum")
	out := t.w.Empty(t.size, t.dtype)
	t.w.rowMajor(t)()
	t.w.Launch(out, t)
	return out
}

// Clamp is torch.clamp(t, min, max) with scalar bounds. Gradients pass through where t is between the bounds.
func (t *Tensor) Clamp() *Tensor {
	w := t.w
	n := w.record("ClampBackward1", t)
	self := n.save(t)
	out := t.Pointwise("clamp", t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.clampGrad(self.get(), g.dtype)) })
	return n.result(out, t)
}

// clampGrad is where((self >= min).logical_and_(self <= max), grad, 0).
func (g *Tensor) clampGrad(self *Tensor, dt DType) *Tensor {
	zero := g.w.alloc(dt.Bytes())
	above := self.Pointwise("ge", Bool).Hold()
	below := self.Pointwise("le", Bool).Hold()
	out := above.binary("where", g, dt)
	below.Drop()
	above.Drop()
	g.w.release(zero)
	return out
}

// PadDim is F.pad with zeros along one dimension. With no padding it makes a copy. An image keeps its layout.
func (t *Tensor) PadDim(dim, before, after int) *Tensor {
	dim = t.size.at(dim)
	length := t.size.d[dim]
	n := t.w.record("ConstantPadNdBackward0", t)
	t.w.Op("constant_pad_nd")
	var out *Tensor
	if before == 0 && after == 0 {
		out = t.EmptyLike(t.dtype)
	} else {
		size := t.size.With(dim, length+before+after)
		stride := size.contiguous()
		if t.channelsLast() {
			stride = layout(size, true)
		}
		out = t.w.emptyStrided(size, stride, t.dtype)
	}
	t.w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Slice(dim, before, before+length).Clone()) })
	return n.result(out, t)
}

// RepeatInterleave is t.repeat_interleave(times, dim).
func (t *Tensor) RepeatInterleave(times, dim int) *Tensor {
	dim = t.size.at(dim)
	wide := t.Unsqueeze(dim + 1)
	wide = wide.ExpandAs(wide.size.With(dim+1, times))
	return wide.clone(wide.size.contiguous()).ViewAs(t.size.With(dim, t.size.d[dim]*times))
}

// Tril is torch.tril for a mask.
func (t *Tensor) Tril() *Tensor { return t.plain("tril", t.dtype) }

// Not is ~t for a mask.
func (t *Tensor) Not() *Tensor { return t.plain("bitwise_not", t.dtype) }
