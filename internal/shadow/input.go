// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/stream"

// World returns the process that t lives in.
func (t *Tensor) World() *World { return t.w }

// Input makes a tensor that the training loop holds; the caller drops it.
func (w *World) Input(dt DType, d ...int) *Tensor {
	defer w.As(Batch)()
	return w.Empty(Dims(d...), dt).Hold()
}

// RandInt is torch.randint as a temporary, for token ids.
func (w *World) RandInt(d ...int) *Tensor {
	w.Op("randint")
	return w.Empty(Dims(d...), Int64)
}

// Constant makes a one-element tensor that a Python module holds permanently.
func (w *World) Constant(dt DType) {
	defer w.As(Temporaries)()
	w.Empty(Dims(), dt).Hold()
}

// Arange is torch.arange(n).
func (w *World) Arange(n int) *Tensor {
	w.Op("arange")
	return w.Empty(Dims(n), Int64)
}

// Full is torch.full, zeros or ones.
func (w *World) Full(dt DType, d ...int) *Tensor {
	w.Op("full")
	return w.Empty(Dims(d...), dt)
}

// Item reads a scalar back to Python.
func Item(t *Tensor) {
	if m := t.w.Meter; m != nil {
		m.Sync()
	}
	dropTemporaries(t)
}

// Gather is torch.gather(t, dim, index) for a table of integers, which has no gradient. It returns one element
// for each index.
func (t *Tensor) Gather(index *Tensor) *Tensor {
	t.w.Op("gather")
	out := t.w.Empty(index.size, t.dtype)
	t.w.Launch(out, index)
	dropTemporaries(t, index)
	return out
}

// Alias is an index expression that selects everything, such as t[:, slice(0, None), :].
func (t *Tensor) Alias() *Tensor {
	return t.view("AliasBackward0", t.size, t.stride, func(g *Tensor) *Tensor { return g })
}

// Pad is F.pad with a constant along the last dimension.
func (t *Tensor) Pad(before, after int) *Tensor {
	size := t.size.With(t.size.n-1, t.Size(-1)+before+after)
	n := t.w.record("ConstantPadNdBackward0", t)
	t.w.Op("constant_pad_nd")
	out := t.w.Empty(size, t.dtype)
	t.w.Launch(out, t)
	width := t.Size(-1)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Slice(-1, before, before+width).Clone()) })
	return n.result(out, t)
}

// EmptyCache is torch.cuda.empty_cache().
func (w *World) EmptyCache() { w.Trace.Add(stream.EmptyCache, 0, 0) }

// RandnLike is torch.randn_like(t), or torch.randn of the same size.
func (t *Tensor) RandnLike() *Tensor {
	t.w.Op("randn_like")
	out := t.w.Empty(t.size, t.dtype)
	t.w.Launch(out)
	return out
}
