// SPDX-License-Identifier: Apache-2.0

package kernel

// The memory-efficient kernel (aten/src/ATen/native/transformers/cuda/mem_eff_attention):
// for float32, and for masks where the others do not take them.

// EfficientForward is what it takes in the forward pass: a wide head of halves is
// summed in float32.
func (r Rules) EfficientForward(a Attention) uint64 {
	if a.Type.half() && a.Width > 128 {
		return uint64(a.rows() * a.Width * 4)
	}
	return 0
}

// EfficientBackward is the accumulator of the queries' gradient: for each head,
// block of queries and part of the head a lock of 16 bytes and a float32 tile. The
// tile depends on the head's width, and for halves grows beyond 64. Wide heads
// of halves have accumulators for the gradients of keys and values too.
func (r Rules) EfficientBackward(a Attention) uint64 {
	rows, cols := 64, (a.Width+63)/64*64
	switch {
	case a.Width > 128:
		rows, cols = 128, 64
	case a.Width > 64 && a.Type.half():
		rows = 128
	}
	heads := a.Batch * a.Heads
	tiles := heads * ceilDiv(a.Queries, rows) * ceilDiv(a.Width, cols)
	bytes := tiles * (16 + rows*cols*4)
	if a.Width > 128 && a.Type.half() {
		bytes += 2 * heads * (ceilDiv(a.Keys, 64) * 64) * (ceilDiv(a.Width, rows) * rows) * 4
	}
	return uint64(bytes)
}
