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

// PadDim is F.pad with zeros along one dimension.
func (t *Tensor) PadDim(dim, before, after int) *Tensor {
	return t.padded(pad{t.size.at(dim), before, after})
}

// PadPlane is F.pad(t, (0, 0, 0, right, 0, below)) of images with their channels in the last dimension.
func (t *Tensor) PadPlane(below, right int) *Tensor {
	return t.padded(pad{1, 0, below}, pad{2, 0, right})
}

// PadDims is F.pad with zeros: before and after hold what is added to the last dimensions of t, the last one first.
func (t *Tensor) PadDims(before, after []int) *Tensor {
	var pads []pad
	for i := range before {
		pads = append(pads, pad{t.size.n - 1 - i, before[i], after[i]})
	}
	return t.padded(pads...)
}

// PadMirrored is F.pad with "reflect" or "replicate", whose gradient is added into zeros.
func (t *Tensor) PadMirrored(op string, before, after []int) *Tensor {
	w := t.w
	n := w.record(op, t)
	self := n.save(t)
	size := t.size
	for i := range before {
		size.d[size.n-1-i] += before[i] + after[i]
	}
	w.Op(op)
	out := w.emptyStrided(size, layout(size, t.channelsLast()), t.dtype)
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor {
		x := self.get()
		w.Op(op + "_backward")
		dx := x.EmptyLike(x.dtype)
		w.Launch(dx, g)
		return inputGrads(dx)
	})
	return n.result(out, t)
}

// pad is the number of zeros before and after a dimension.
type pad struct{ dim, before, after int }

// padded is constant_pad_nd. With no padding it makes a copy. An image keeps its layout.
func (t *Tensor) padded(pads ...pad) *Tensor {
	n := t.w.record("ConstantPadNdBackward0", t)
	t.w.Op("constant_pad_nd")
	size, more := t.size, 0
	for _, p := range pads {
		size.d[p.dim] += p.before + p.after
		more += p.before + p.after
	}
	var out *Tensor
	if more == 0 {
		out = t.EmptyLike(t.dtype)
	} else {
		out = t.w.emptyStrided(size, layout(size, t.channelsLast()), t.dtype)
	}
	t.w.Launch(out, t)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor {
		for _, p := range pads {
			g = g.Slice(p.dim, p.before, p.before+from.d[p.dim])
		}
		return inputGrads(g.Clone())
	})
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

// Cumprod is t.cumprod(dim). Autocast casts its argument to float32. The gradient assumes that no element is zero (cumprod_backward in FunctionsManual.cpp).
func (t *Tensor) Cumprod(dim int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.cumprod(dim) })
}

func (t *Tensor) cumprod(dim int) *Tensor {
	n := t.w.record("CumprodBackward0", t)
	self := n.save(t)
	out := t.cumsum()
	if t.Numel() == t.size.d[t.size.at(dim)] {
		t.w.kernelScratch(t.w.Rules.Scan(t.Numel(), int(t.dtype.Bytes())))
	}
	result := n.save(out)
	one := t.size.d[t.size.at(dim)] == 1
	n.backward(func(g *Tensor) []*Tensor {
		if one {
			return inputGrads(g)
		}
		scaled := result.get().Mul(g).Hold()
		zero := self.get().Pointwise("eq", Bool).Hold()
		some := zero.reduce("any", allDims(zero.size), false, Bool).Hold()
		some.Item()
		some.Drop()
		first := scaled.Pointwise("flip", g.dtype).Hold()
		sums := first.Pointwise("cumsum", g.dtype).Hold()
		last := sums.Pointwise("flip", g.dtype).Hold()
		sums.Drop()
		first.Drop()
		dx := last.Div(self.get())
		last.Drop()
		zero.Drop()
		scaled.Drop()
		return inputGrads(dx)
	})
	return n.result(out, t)
}

// SearchSorted is torch.searchsorted or bucketize: a position for each of the values.
func (t *Tensor) SearchSorted(values *Tensor, dt DType) *Tensor {
	w := t.w
	w.Op("searchsorted")
	out := w.Empty(values.size, dt)
	done, doneValues := w.rowMajor(t), w.rowMajor(values)
	doneValues()
	done()
	w.Launch(out, values)
	dropTemporaries(t, values)
	return out
}
