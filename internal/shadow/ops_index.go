// SPDX-License-Identifier: Apache-2.0

package shadow

import "math/bits"

// Ops that select by index, used to route tokens to experts. gather and its backward are Pick in ops_choose.go, with
// index_select and indexing; masks are in ops_masked.go and ops_where.go. For scripts, scatter_ and index_add_
// are writes in script/tensors.go; for models, index_add_ is IndexAddInto in ops_rebase.go.

// TopK is torch.topk(t, k, -1): values and their indices.
func (t *Tensor) TopK(k int) (values, indices *Tensor) {
	w := t.w
	n := w.record("TopkBackward0", t)
	w.Op("topk")
	size := t.size.With(t.size.n-1, k)
	values = w.Empty(size, t.dtype)
	indices = w.Empty(size, Int64)
	w.topkScratch(t)
	w.Launch(t, values, indices)
	n.save(indices)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // zeros.scatter_(-1, indices, grad)
		zeros := w.Empty(from, g.dtype)
		w.Launch(zeros, g)
		return inputGrads(w.unlessInPlace("scatter", zeros))
	})
	n.output(values, 0)
	dropTemporaries(t)
	return values, indices
}

// topkScratch allocates topk's workspace: a contiguous copy of its input, and the buffers of its blocks.
func (w *World) topkScratch(t *Tensor) {
	var held []*storage
	if !t.contiguous() {
		held = append(held, w.alloc(t.Bytes()))
	}
	size := t.size.d[t.size.n-1]
	buffers, sums := w.Rules.TopK(t.Numel()/max(size, 1), size, int(t.dtype.Bytes()))
	for _, n := range buffers {
		held = append(held, w.alloc(n))
	}
	if len(buffers) > 0 {
		w.kernelScratch(sums)
		w.kernelScratch(sums)
	}
	for i := len(held) - 1; i >= 0; i-- {
		w.release(held[i])
	}
}

// unlessInPlace returns the result of a formula that writes into fresh, or into a copy of it if a dispatch mode
// forbids in-place writes.
func (w *World) unlessInPlace(op string, fresh *Tensor) *Tensor {
	if !w.OutOfPlace {
		return fresh
	}
	w.Op(op)
	out := fresh.EmptyLike(fresh.dtype)
	dropTemporaries(fresh)
	return out
}

// Rows is t[index] for a one-dimensional index. Its gradient adds rows to zeros.
func (t *Tensor) Rows(index *Tensor) *Tensor {
	w := t.w
	n := w.record("IndexBackward0", t)
	kept := n.save(index)
	w.Op("index")
	size := t.size.With(0, index.Numel())
	out := w.Empty(size, t.dtype)
	w.Launch(out, out)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype).Hold()
		out := w.unlessInPlace("index_put", zeros)
		w.indexPut(1, kept.get().Numel(), from.d[0], g)
		w.Launch(out, g)
		if out == zeros {
			return inputGrads(zeros.loosen())
		}
		zeros.Drop()
		return inputGrads(out)
	})
	return n.result(out, t, index)
}

// indexPut allocates the workspace of index_put_(accumulate=True) (native/cuda/Indexing.cu) with this many index
// tensors of n elements. Negative indices are converted; then the tensors are scaled, added and sorted. Values in another
// order are copied into rows.
func (w *World) indexPut(indices, n, rows int, values *Tensor) {
	index := func() *storage { return w.alloc(uint64(n) * 8) }
	linear := w.linearIndex(index)
	for range indices - 1 {
		w.release(w.linearIndex(index))
	}
	mark := w.pin(values.Contiguous())
	sorted, original := index(), index()
	places := index()
	w.kernelScratch(w.Rules.Sort(n, bits.Len(uint(max(rows-1, 1)))))
	for _, m := range []*storage{places, original, sorted} {
		w.release(m)
	}
	w.unpin(mark)
	w.release(linear)
}

// linearIndex converts the negative indices of a tensor and scales it. Checking the range computes the minimum and
// maximum.
func (w *World) linearIndex(index func() *storage) *storage {
	if w.OutOfPlace {
		for range 2 {
			most := w.alloc(8)
			w.Scratch(1)
			w.release(most)
		}
	}
	wrapped := index()
	linear := index()
	w.release(wrapped)
	return linear
}

// FloorDivide is t // number for integers.
func (t *Tensor) FloorDivide() *Tensor { return t.plain("floor_divide", t.dtype) }

// Histc is torch.histc of integers.
func (t *Tensor) Histc(bins int) *Tensor {
	t.w.Op("histc")
	out := t.w.Empty(Dims(bins), t.dtype)
	t.w.Launch(out, t)
	dropTemporaries(t)
	return out
}

// Offsets is torch.cumsum(t, 0, dtype=int32) of one dimension.
func (t *Tensor) Offsets() *Tensor {
	t.w.Op("cumsum")
	out := t.w.Empty(t.size, Int32)
	t.w.kernelScratch(t.w.Rules.Scan(t.Numel(), 4))
	dropTemporaries(t)
	return out
}

// Inverse is the permutation that undoes t: inv[t] = arange(n).
func (t *Tensor) Inverse() *Tensor {
	out := t.FullLike().Hold()
	t.w.Op("arange")
	t.w.Scratch(t.Bytes())
	return out.loosen()
}

// DivTo is t /= o. The quotient rule needs the old t, so a copy is kept.
func (t *Tensor) DivTo(o *Tensor) *Tensor {
	w := t.w
	n := w.record("DivBackward0", t, o)
	other := n.saveIf(n != nil, o)
	var self *saved
	if n.needsGrad(1) {
		w.Op("clone")
		before := t.EmptyLike(t.dtype)
		self = n.save(before)
		dropTemporaries(before)
	}
	w.Op("div_")
	w.Launch(t, o)
	n.backward(divGrads(n, other, self))
	return n.inPlace(t, o)
}

// MaskedFillTo is t.masked_fill_(mask, number). The result is t itself if it needs no gradient, otherwise another tensor
// with the same memory.
func (t *Tensor) MaskedFillTo(mask *Tensor) *Tensor {
	n := t.w.record("MaskedFillBackward0", t)
	m := n.save(mask)
	t.w.Op("masked_fill_")
	t.w.Launch(t, mask)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.maskedFill(m.get())) })
	return n.inPlace(t, mask)
}

// inPlace ends an op that wrote into t: the result is the same memory with a
// new history.
func (n *node) inPlace(t, arg *Tensor) *Tensor {
	if n == nil {
		dropTemporaries(arg)
		return t
	}
	return n.result(t.alias(t.size, t.stride), t, arg)
}
