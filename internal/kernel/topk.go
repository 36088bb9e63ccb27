// SPDX-License-Identifier: Apache-2.0

package kernel

// topk with several blocks per slice: native/cuda/TensorTopK.cu, namespace mbtopk.

const (
	topkThreads = 256 // threads per block
	topkDigits  = 256 // values of one radix-select digit
	topkBlocks  = 6   // blocks per multiprocessor: its registers divided by 40 per thread
)

// TopK returns the buffers of topk over slices of the given size, in the order in which they are allocated, and the
// workspace of the two running sums that follow. Both are empty if one block handles each slice.
func (r Rules) TopK(slices, size, elementBytes int) (buffers []uint64, sums Figure) {
	if !manyBlocks(slices, size) {
		return nil, Figure{}
	}
	perThread := min(max(CeilDiv(slices*size, r.SMs*topkBlocks*topkThreads), 4), 64)
	blocks := slices * CeilDiv(size, perThread*topkThreads)
	for _, n := range []int{slices * elementBytes, 2 * slices * 4, 2 * slices * max(elementBytes, 4), blocks * topkDigits * 2, slices * topkDigits * 4, blocks * 4, blocks * 4} {
		buffers = append(buffers, uint64(n))
	}
	return buffers, r.Scan(blocks, 8) // scans pairs of a count and its slice
}

// manyBlocks is should_use_multiblock. PyTorch's authors measured its bounds.
func manyBlocks(slices, size int) bool {
	for _, b := range []struct{ slices, size int }{{20, 20000}, {40, 10000}, {80, 8000}, {199, 5000}, {799, 3000}, {4000, 800}} {
		if slices <= b.slices {
			return size >= b.size
		}
	}
	return size >= 400
}
