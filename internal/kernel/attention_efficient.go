// SPDX-License-Identifier: Apache-2.0

package kernel

// This file computes the kernel's memory; AttentionBackend in attention.go decides when it is chosen.

// The memory-efficient kernel (aten/src/ATen/native/transformers/cuda/mem_eff_attention), used for float32 and
// for masks that the other kernels do not support.

// EfficientForward returns the memory of the forward pass. Wide 16-bit heads are summed in float32.
func (r Rules) EfficientForward(a Attention) Figure {
	sums := uint64(a.rows() * a.Width * 4)
	switch {
	case !a.Type.half():
		return exactly(0)
	case a.Width > 128:
		return r.between(EfficientAttention, sums, 0, sums)
	}
	return r.between(EfficientAttention, 0, 0, 0)
}

// EfficientBackward returns the accumulators of the backward pass. The tile is larger for heads above 64 elements.
// 16-bit heads above 128 also have accumulators for the gradients of keys and values.
//
// A card with less shared memory than an H200 may use the smaller tile where the H200 uses the larger one. 16-bit
// heads that do not fit into the smaller tile then need the additional accumulators.
func (r Rules) EfficientBackward(a Attention) Figure {
	tile, half := 64, a.Type.half()
	if a.Width > 64 {
		tile = 128
	}
	least := min(a.accumulators(64, false), a.accumulators(128, false))
	more := half && a.Width > 64
	most := max(a.accumulators(64, more), a.accumulators(128, more))
	return r.between(EfficientAttention, a.accumulators(tile, half && a.Width > 128), least, most)
}

// accumulators returns the bytes of the accumulators. For the queries' gradient, each head, block of queries and
// part of a head has a 16-byte lock and a float32 tile of the given rows. If all is set, there are also
// accumulators for the gradients of keys and values.
func (a Attention) accumulators(rows int, all bool) uint64 {
	cols := 64
	if a.Width > 64 && a.Width <= 128 && a.Type.half() {
		cols = 128
	}
	heads := a.Batch * a.Heads
	bytes := heads * CeilDiv(a.Queries, rows) * CeilDiv(a.Width, cols) * (16 + rows*cols*4)
	if all {
		bytes += 2 * heads * (CeilDiv(a.Keys, 64) * 64) * (CeilDiv(a.Width, rows) * rows) * 4
	}
	return uint64(bytes)
}
