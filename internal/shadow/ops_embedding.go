// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Embedding is F.embedding. Its gradient is a table of zeros to which the rows are added.
func (ids *Tensor) Embedding(table *Tensor) *Tensor {
	w := ids.w
	n := w.record("EmbeddingBackward0", table)
	kept := n.save(ids)
	w.Op("embedding")
	flat := ids.Hold()
	if _, same := viewStrides(ids.size, ids.stride, Dims(ids.Numel())); !same { // index_select over ids.reshape(-1)
		flat = ids.clone(ids.size.contiguous()).Hold()
	}
	out := w.Empty(ids.size.insert(ids.size.n, table.Size(-1)), table.dtype)
	w.Launch(out, out)
	if flat != ids {
		flat.Drop()
	}
	ids.loosen()
	rows, width := table.Size(0), table.Size(1)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.embeddingGrad(kept.get(), rows, width)) })
	return n.result(out, ids)
}

// embeddingGrad is embedding_dense_backward: one kernel adds rows directly, unless there are many indices, which
// are sorted first.
func (g *Tensor) embeddingGrad(ids *Tensor, rows, width int) *Tensor {
	w := g.w
	w.Op("embedding_dense_backward")
	c := g.Contiguous().Hold()
	flat := ids.Contiguous().Hold()
	var out *Tensor
	if !kernel.EmbeddingSorts(ids.Numel()) {
		out = w.Empty(Dims(rows, width), g.dtype)
		w.Launch(out, g)
	} else {
		out = w.embeddingSorted(g, ids, rows, width)
	}
	flat.Drop()
	c.Drop()
	return out
}

// embeddingSorted is the gradient of an embedding with many indices. The indices are sorted, equal ones form
// segments, segments are split into parts, each part is summed, and the parts of a segment are added. If the
// table is small and segments are long, parts are added directly to the table, in float32.
func (w *World) embeddingSorted(g, ids *Tensor, rows, width int) *Tensor {
	n := ids.Numel()
	index := func(count int) *storage { return w.alloc(uint64(count) * ids.dtype.Bytes()) }
	sorted, original := index(n), index(n)
	positions := index(n)
	w.kernelScratch(w.Rules.Sort(n, 64))
	w.release(positions)

	out := w.Empty(Dims(rows, width), g.dtype)
	segments := index(n)
	count := w.alloc(8)
	keys := index(n)
	w.kernelScratch(w.Rules.Unique(n, 8))
	w.release(keys)
	most, mostParts := kernel.EmbeddingParts(n, rows)
	parts, offsets := index(most), index(most)
	w.kernelScratch(w.Rules.Scan(most, 8))
	partCount := w.alloc(8)
	partOffsets := index(mostParts)
	if w.Rules.EmbeddingFused(most, mostParts, width) {
		owner := index(mostParts)
		if g.dtype.Half() {
			w.Scratch(uint64(rows*width) * 4)
		}
		w.release(owner)
	} else {
		w.Scratch(uint64(mostParts*width) * max(g.dtype.Bytes(), 4))
	}
	w.Launch(out, g)
	for _, m := range []*storage{partOffsets, partCount, offsets, parts, count, segments, original, sorted} {
		w.release(m)
	}
	return out
}
