// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that select by a mask. Every element of a mask is assumed to be true unless the number of true elements is given.

// Masked is t[mask] for a mask over its first dimensions, with all elements true.
func (t *Tensor) Masked(mask *Tensor) *Tensor { return t.MaskedSome(mask, mask.Numel()) }

// MaskedSome is t[mask] for a mask over its first dimensions, with count true elements. The indices of the true
// elements are computed each time.
func (t *Tensor) MaskedSome(mask *Tensor, count int) *Tensor {
	w := t.w
	n := w.record("IndexBackward0", t)
	kept := n.save(mask)
	from := t.size
	size := t.size
	for size.n > t.size.n-mask.size.n {
		size = size.Remove(0)
	}
	w.Op("index")
	places := w.nonzero(mask, count)
	out := w.Empty(size.insert(0, count), t.dtype)
	w.Launch(out, t)
	w.release(places)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype).Hold()
		out := w.unlessInPlace("index_put", zeros)
		places := w.nonzero(kept.get(), count)
		if mask.size.n == 1 {
			w.indexPut(1, count, count, g)
			w.release(places)
		} else {
			w.indexPutAt(places, mask.size.n, count, mask.Numel())
		}
		w.Launch(out, g)
		if out == zeros {
			return inputGrads(zeros.loosen())
		}
		zeros.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// MaskedScatter returns zeros of the mask's shape, with elements of source where the mask is true.
func (source *Tensor) MaskedScatter(mask *Tensor) *Tensor {
	w := source.w
	w.Op("new_zeros")
	zeros := w.Empty(mask.size, source.dtype).Hold()
	n := w.record("MaskedScatterBackward0", source)
	kept := n.save(mask)
	w.Op("masked_scatter")
	out := w.Empty(mask.size, source.dtype)
	before := w.alloc(uint64(mask.Numel()) * Int64.Bytes()) // the number of true elements before each element
	w.kernelScratch(w.Rules.Scan(mask.Numel(), 8))
	w.release(before)
	w.Launch(out, source, mask)
	rows, all := source.size, source.Numel()
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("masked_scatter_backward")
		places := w.nonzero(kept.get(), all)
		out := w.Empty(rows, g.dtype)
		w.release(places)
		w.Launch(out, g)
		return inputGrads(out)
	})
	out = n.result(out, source)
	zeros.Drop()
	return out
}

// MaskedScatterInto is t.masked_scatter(mask, source): elements of source, in order, replace those of t where the mask
// is true. The mask is expanded to t's shape.
func (t *Tensor) MaskedScatterInto(mask, source *Tensor) *Tensor {
	w := t.w
	n := w.record("MaskedScatterBackward0", t, source)
	kept := n.save(mask)
	wide := mask.alias(t.size, expandStrides(mask.size, mask.stride, t.size)).Hold()
	w.Op("masked_scatter")
	out := w.Empty(t.size, t.dtype)
	before := w.alloc(uint64(t.Numel()) * Int64.Bytes()) // the number of true elements before each element
	flat := wide.inRows()
	w.kernelScratch(w.Rules.Scan(t.Numel(), 8))
	w.release(flat)
	w.release(before)
	w.Launch(out, t, source, mask)
	wide.Drop()
	size, from := t.size, source.size
	n.backward(func(g *Tensor) []*Tensor {
		var gt, gs *Tensor
		mask := kept.get()
		if n.needsGrad(0) {
			gt = g.maskedFill(mask)
		}
		if n.needsGrad(1) { // grad.masked_select(mask)
			w.Op("masked_scatter_backward")
			wide := mask.alias(size, expandStrides(mask.size, mask.stride, size)).Hold()
			places := w.nonzero(wide, from.Numel())
			gs = w.Empty(from, g.dtype)
			w.release(places)
			w.Launch(gs, g)
			wide.Drop()
		}
		return inputGrads(gt, gs)
	})
	return n.result(out, t, source)
}

// indexPutAt is indexPut for indices in several dimensions, which are combined before they are sorted; places holds
// them until then.
func (w *World) indexPutAt(places *storage, dims, n, rows int) {
	index := func() *storage { return w.alloc(uint64(n) * 8) }
	linear := w.linearIndex(index)
	for range dims - 1 {
		w.release(w.linearIndex(index))
	}
	w.release(places)
	w.sortRows(n, rows)
	w.release(linear)
}

// PutMaskedInto is t[mask] = values for a mask over the first dimensions of t, with as many true elements as values has
// rows. The old values get no gradient.
func (t *Tensor) PutMaskedInto(mask, values *Tensor) {
	w := t.w
	n := w.record("IndexPutBackward0", t, values)
	kept := n.save(mask)
	count, rows := values.size.d[0], values.size
	w.Op("index_put_")
	w.release(w.nonzero(mask, count))
	w.Launch(t, values)
	n.backward(func(g *Tensor) []*Tensor {
		var gt, gv *Tensor
		if n.needsGrad(0) {
			w.Op("zeros")
			zeros := w.alloc(uint64(rows.Numel()) * g.dtype.Bytes())
			w.Op("index_put")
			gt = w.Empty(g.size, g.dtype)
			w.Launch(gt, g)
			w.release(w.nonzero(kept.get(), count))
			w.release(zeros)
		}
		if n.needsGrad(1) {
			w.Op("index")
			places := w.nonzero(kept.get(), count)
			gv = w.Empty(rows, g.dtype)
			w.Launch(gv, g)
			w.release(places)
		}
		return inputGrads(gt, gv)
	})
	n.rebase(t)
	dropTemporaries(values)
}

// inRows allocates a row-major copy of t if t has another layout.
func (t *Tensor) inRows() *storage {
	if t.contiguous() {
		return nil
	}
	return t.w.alloc(t.Bytes())
}

// Item is t.item(), which copies the value to the host.
func (t *Tensor) Item() {
	t.w.Op("_local_scalar_dense")
	dropTemporaries(t)
}

// nonzero returns the indices of a mask's count true elements (native/cuda/Nonzero.cu): one integer
// for each dimension.
func (w *World) nonzero(mask *Tensor, count int) *storage {
	flat := mask.inRows()
	number := w.alloc(4)
	w.kernelScratch(w.Rules.Count(mask.Numel()))
	places := w.alloc(uint64(count*mask.size.n) * Int64.Bytes())
	w.kernelScratch(w.Rules.Select(mask.Numel()))
	w.release(number)
	w.release(flat)
	return places
}

// Nonzero is torch.nonzero for a tensor with count true elements. It returns their indices, one row each.
func (t *Tensor) Nonzero(count int) *Tensor {
	w := t.w
	w.Op("nonzero")
	number := w.alloc(4)
	w.kernelScratch(w.Rules.Count(t.Numel()))
	out := w.Empty(Dims(count, t.Dim()), Int64)
	w.kernelScratch(w.Rules.Select(t.Numel()))
	w.release(number)
	w.Launch(out, t)
	dropTemporaries(t)
	return out
}
