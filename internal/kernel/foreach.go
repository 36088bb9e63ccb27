// SPDX-License-Identifier: Apache-2.0

package kernel

// foreachChunk is how many elements one block of a foreach kernel reads
// (aten/src/ATen/native/cuda/MultiTensorApply.cuh).
const foreachChunk = 65536

// ForeachNorm is how many float32 sums _foreach_norm keeps for so many tensors:
// as many for each as the largest has chunks.
func ForeachNorm(tensors, largest int) int { return tensors * CeilDiv(largest, foreachChunk) }
