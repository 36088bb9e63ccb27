// SPDX-License-Identifier: Apache-2.0

package shadow

// World is the process that t lives in.
func (t *Tensor) World() *World { return t.w }

// Input makes a tensor that the training loop made and holds.
func (w *World) Input(dt DType, d ...int) *Tensor {
	was := w.component
	w.component = Batch
	t := w.empty(Dims(d...), dt).hold()
	w.component = was
	return t
}

// RandInt is torch.randint made where it is used: token ids.
func (w *World) RandInt(d ...int) *Tensor {
	w.op("randint")
	return w.empty(Dims(d...), Int64)
}

// Constant is a tensor of one element that a Python module holds for good.
func (w *World) Constant(dt DType) {
	was := w.component
	w.component = Temporaries
	w.empty(Dims(), dt).hold()
	w.component = was
}

// Release lets go of a tensor that Input made; nil is nothing.
func Release(t *Tensor) { t.drop() }

// Arange is torch.arange(n).
func (w *World) Arange(n int) *Tensor {
	w.op("arange")
	return w.empty(Dims(n), Int64)
}

// Full is torch.full, zeros or ones.
func (w *World) Full(dt DType, d ...int) *Tensor {
	w.op("full")
	return w.empty(Dims(d...), dt)
}

// Item reads a scalar back to Python.
func Item(t *Tensor) {
	if m := t.w.Meter; m != nil {
		m.Sync()
	}
	done(t)
}

// Gather is torch.gather(t, dim, index) of a table of whole numbers, which has
// no gradient: one element for each index.
func (t *Tensor) Gather(index *Tensor) *Tensor {
	t.w.op("gather")
	out := t.w.empty(index.size, t.dtype)
	t.w.kernel(out, index)
	done(t, index)
	return out
}

// Alias is an indexing that changes nothing, such as t[:, slice(0, None), :].
func (t *Tensor) Alias() *Tensor {
	return t.view("AliasBackward0", t.size, t.stride, func(g *Tensor) *Tensor { return g })
}

// Pad is F.pad with a constant along the last dimension.
func (t *Tensor) Pad(before, after int) *Tensor {
	size := t.size.with(t.size.n-1, t.Size(-1)+before+after)
	n := t.w.record("ConstantPadNdBackward0", t)
	t.w.op("constant_pad_nd")
	out := t.w.empty(size, t.dtype)
	t.w.kernel(out, t)
	width := t.Size(-1)
	n.backward(func(g *Tensor) []*Tensor { return each(g.Slice(-1, before, before+width).Clone()) })
	return n.result(out, t)
}

// NoGrad turns recording off until the function it returns is called.
func (w *World) NoGrad() func() {
	was := w.gradMode
	w.gradMode = false
	return func() { w.gradMode = was }
}
