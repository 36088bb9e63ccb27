// SPDX-License-Identifier: Apache-2.0

package shadow

// The gradient of an embedding with many indices (EmbeddingBackwardKernel.cu,
// 2.11): indices are sorted, equal ones form segments, segments are cut into
// parts of ten rows, each part is summed, and the parts of a segment are added.

// embeddingSorted is that gradient. Where tables are small and segments long,
// parts are added into the table directly, in float32.
func (w *World) embeddingSorted(g, ids *Tensor, rows, width int) *Tensor {
	n := ids.Numel()
	index := func(count int) *storage { return w.alloc(uint64(count) * ids.dtype.Bytes()) }
	sorted, original := index(n), index(n)
	positions := index(n)
	w.scratch(radixSortBytes(n, 64))
	w.release(positions)

	out := w.empty(Dims(rows, width), g.dtype)
	segments := index(n)
	count := w.alloc(8)
	keys := index(n)
	w.scratch(scanBytes(n, uniqueTile, 8))
	w.release(keys)
	most := min(n, rows)
	parts, offsets := index(most), index(most)
	w.scratch(scanBytes(most, scanTile, 8))
	partCount := w.alloc(8)
	mostParts := n/10 + most
	partOffsets := index(mostParts)
	if w.Rules.embeddingFused(most, mostParts, width) {
		owner := index(mostParts)
		if g.dtype.Half() {
			w.scratch(uint64(rows*width) * 4)
		}
		w.release(owner)
	} else {
		w.scratch(uint64(mostParts*width) * max(g.dtype.Bytes(), 4))
	}
	w.kernel(out, g)
	for _, m := range []*storage{partOffsets, partCount, offsets, parts, count, segments, original, sorted} {
		w.release(m)
	}
	return out
}

// embeddingFused tells whether parts are added directly: when a block per
// segment would leave the card idle.
func (r Rules) embeddingFused(segments, parts, width int) bool {
	warped := (width + 31) / 32 * 32
	blocks := (segments*warped + min(warped, 1024) - 1) / min(warped, 1024)
	return r.Torch >= 211 && blocks < 4*r.SMs && parts > 4*blocks
}

// What CUB asks for, as recorded with CUDA 13: pieces rounded up to 256 bytes
// and 255 to align the first.
const (
	onesweepTile = 4608 // items a block sorts
	singleTile   = 2304 // items that one block sorts alone
	uniqueTile   = 4608
	scanTile     = 896
)

// radixSortBytes is DeviceRadixSort::SortPairs over 64-bit keys, of which so
// many bits count, and 64-bit values: a histogram for each pass of eight bits,
// what blocks tell each other, counters, and where there are several passes a
// second buffer of keys and values.
func radixSortBytes(n, bits int) uint64 {
	if n <= singleTile {
		return 1
	}
	passes, blocks := uint64(bits+7)/8, uint64(n+onesweepTile-1)/onesweepTile
	bytes := passes*256*8 + blocks*256*4 + 256 + 255
	if passes > 1 {
		bytes += 2 * align256(uint64(n)*8)
	}
	return bytes
}

// scanBytes is a scan over numbers of so many bytes: the state of each tile
// and of 32 more.
func scanBytes(n, tile, width int) uint64 {
	tiles := (n + tile - 1) / tile
	return 256 + align256(uint64((tiles+32)*2*width)) + 255
}

func align256(n uint64) uint64 { return (n + 255) / 256 * 256 }
