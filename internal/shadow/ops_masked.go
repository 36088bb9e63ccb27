// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that choose by a mask, of which every element is taken to be true.

// Masked is t[mask] for a mask over its first dimensions. The indices of the true elements are computed
// each time.
func (t *Tensor) Masked(mask *Tensor) *Tensor {
	w := t.w
	n := w.record("IndexBackward0", t)
	kept := n.save(mask)
	count, from := mask.Numel(), t.size
	size := t.size
	for size.n > t.size.n-mask.size.n {
		size = size.Remove(0)
	}
	w.Op("index")
	places := w.nonzero(mask)
	out := w.Empty(size.insert(0, count), t.dtype)
	w.Launch(out, t)
	w.release(places)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype).Hold()
		out := w.unlessInPlace("index_put", zeros)
		places := w.nonzero(kept.get())
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

// MaskedScatter is zeros of the mask's shape, with source where it is true.
func (source *Tensor) MaskedScatter(mask *Tensor) *Tensor {
	w := source.w
	w.Op("new_zeros")
	zeros := w.Empty(mask.size, source.dtype).Hold()
	n := w.record("MaskedScatterBackward0", source)
	kept := n.save(mask)
	w.Op("masked_scatter")
	out := w.Empty(mask.size, source.dtype)
	w.Scratch(uint64(mask.Numel()) * Int64.Bytes()) // how many are true before each
	w.Launch(out, source, mask)
	rows := source.size
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("masked_scatter_backward")
		places := w.nonzero(kept.get())
		out := w.Empty(rows, g.dtype)
		w.release(places)
		w.Launch(out, g)
		return inputGrads(out)
	})
	out = n.result(out, source)
	zeros.Drop()
	return out
}

// Item is t.item(), the number on the host.
func (t *Tensor) Item() {
	t.w.Op("_local_scalar_dense")
	dropTemporaries(t)
}

// nonzero is where a mask is true (native/cuda/Nonzero.cu): whole numbers, one
// for each dimension.
func (w *World) nonzero(mask *Tensor) *storage {
	count := w.alloc(4)
	w.Scratch(1)
	places := w.alloc(uint64(mask.Numel()*mask.size.n) * Int64.Bytes())
	w.kernelScratch(w.Rules.Scan(mask.Numel(), 4))
	w.release(count)
	return places
}
