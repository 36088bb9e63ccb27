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
		w.indexPut(count, count)
		w.release(places)
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

// Item is t.item(), which copies the value to the host.
func (t *Tensor) Item() {
	t.w.Op("_local_scalar_dense")
	dropTemporaries(t)
}

// nonzero returns the indices of a mask's count true elements (native/cuda/Nonzero.cu): one integer
// for each dimension.
func (w *World) nonzero(mask *Tensor, count int) *storage {
	number := w.alloc(4)
	w.Scratch(1)
	places := w.alloc(uint64(count*mask.size.n) * Int64.Bytes())
	w.kernelScratch(w.Rules.Scan(mask.Numel(), 4))
	w.release(number)
	return places
}

// Nonzero is torch.nonzero for a tensor with count true elements. It returns their indices, one row each.
func (t *Tensor) Nonzero(count int) *Tensor {
	w := t.w
	w.Op("nonzero")
	number := w.alloc(4)
	w.Scratch(1)
	out := w.Empty(Dims(count, t.Dim()), Int64)
	w.kernelScratch(w.Rules.Scan(t.Numel(), 4))
	w.release(number)
	w.Launch(out, t)
	dropTemporaries(t)
	return out
}
