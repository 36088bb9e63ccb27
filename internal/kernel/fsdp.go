// SPDX-License-Identifier: Apache-2.0

package kernel

import "math"

// The tables read by the kernels of split_with_sizes_copy and _chunk_cat, which FSDP2 uses to gather and scatter
// (aten/src/ATen/native/cuda/TensorShape.cu, 2.11). Their blocks have 128 threads, each of which moves 16 bytes.
const (
	splitThreads = 128
	splitTile    = splitThreads * 16
	splitEntry   = 8 // bytes
)

// SplitWithSizes returns the table for splitting rows into chunks of the given bytes: three entries per split,
// one per block, and the blocks' running sum. Each block moves several tiles if there would otherwise be too many
// blocks.
func (r Rules) SplitWithSizes(chunks []int, rows int) uint64 {
	tiles := blocksOf(chunks, splitTile)
	most := r.SMs * r.threadsPerSM() / splitThreads * 2
	factor := CeilDiv(tiles*rows, most)
	perBlock := min(int(math.Ceil(math.Sqrt(float64(factor)))), rows)
	blocks := blocksOf(chunks, CeilDiv(factor, perBlock)*splitTile)
	return uint64(4*len(chunks)+1+blocks) * splitEntry
}

// ChunkCat returns the table of _chunk_cat: six entries per tensor, one per block.
func ChunkCat(chunks []int) uint64 {
	return uint64(6*len(chunks)+2+blocksOf(chunks, splitTile)) * splitEntry
}

func blocksOf(chunks []int, each int) (blocks int) {
	for _, bytes := range chunks {
		blocks += CeilDiv(bytes, each)
	}
	return blocks
}
