// SPDX-License-Identifier: Apache-2.0

package shadow

// EmbeddingBag is F.embedding_bag(ids, table, offsets) with mode sum or mean: ids in one dimension, and where each bag
// begins (native/cuda/EmbeddingBag.cu, 2.11). Its gradient is dense.
func (ids *Tensor) EmbeddingBag(table, offsets *Tensor, bags int) *Tensor {
	w := ids.w
	n := w.record("EmbeddingBagBackward0", table)
	kept := n.save(ids)
	n.save(offsets)
	w.Op("_embedding_bag")
	done := w.rowMajor(ids)
	sizes := w.Empty(offsets.size, ids.dtype)
	owners := w.Empty(ids.size, ids.dtype)
	out := w.Empty(Dims(bags, table.Size(1)), table.dtype)
	most := w.Empty(Dims(0), ids.dtype)
	w.Launch(out, out)
	done()
	for _, t := range []*Tensor{owners, sizes, most} {
		n.save(t)
	}
	dropTemporaries(owners, sizes, most)
	rows, width := table.Size(0), table.Size(1)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("_embedding_bag_dense_backward")
		c := g.Contiguous().Hold()
		dw := w.embeddingSorted(g, kept.get(), rows, width)
		c.Drop()
		return inputGrads(dw)
	})
	return n.result(out, ids, offsets)
}
