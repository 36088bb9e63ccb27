// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// embeddingSorted is the gradient of an embedding with many indices: they are
// sorted, equal ones form segments, segments are cut into parts, each part is
// summed, and the parts of a segment are added. If tables are small and segments
// long, parts are added into the table directly, in float32.
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
