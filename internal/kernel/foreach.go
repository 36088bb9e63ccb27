// SPDX-License-Identifier: Apache-2.0

package kernel

// foreachChunk is the number of elements that one block of a foreach kernel reads
// (aten/src/ATen/native/cuda/MultiTensorApply.cuh).
const foreachChunk = 65536

// ForeachNorm returns the number of float32 sums that _foreach_norm allocates: for each tensor, as many as the
// largest tensor has chunks.
func ForeachNorm(tensors, largest int) int { return tensors * CeilDiv(largest, foreachChunk) }
