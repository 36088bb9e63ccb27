// SPDX-License-Identifier: Apache-2.0

package kernel

import "math"

// This file computes the kernel's memory; AttentionBackend in attention.go decides when it is chosen.

// The flash kernel (aten/src/ATen/native/transformers/cuda/flash_attn, 2.11). It supports head widths that are a
// multiple of eight.

// FlashPadding returns the number of elements by which a head is padded.
func FlashPadding(width int) int { return (8 - width%8) % 8 }

// FlashSplits returns the sizes of the forward pass's partial results if keys are split across blocks because the
// queries alone do not fill the card: one number per row, and a row of the result. Both are 0 if keys are not
// split.
func (r Rules) FlashSplits(a Attention) (sums, results uint64) {
	if a.Dropout {
		return 0, 0
	}
	keys := 64
	switch {
	case a.Width <= 64:
		keys = 256
	case a.Width <= 128:
		keys = 128
	}
	splits := flashSplitCount(a.Batch*a.Heads*CeilDiv(a.Queries, 64), 2*r.SMs, CeilDiv(a.Keys, keys))
	if splits < 2 {
		return 0, 0
	}
	rows := uint64(splits * a.rows())
	return rows * 4, rows * flashWidth(uint64(a.Width)) * 4
}

// flashSplitCount returns the smallest number of splits that fills the card nearly as well as the best number
// (num_splits_heuristic).
func flashSplitCount(blocks, slots, keyBlocks int) int {
	if float64(blocks) >= 0.8*float64(slots) {
		return 1
	}
	most := min(128, slots, keyBlocks)
	full := make([]float64, most+1)
	best := 0.0
	for n := 1; n <= most; n++ {
		if n > 1 && CeilDiv(keyBlocks, n) == CeilDiv(keyBlocks, n-1) {
			continue
		}
		waves := float64(blocks*n) / float64(slots)
		full[n] = waves / math.Ceil(waves)
		best = max(best, full[n])
	}
	for n := 1; n <= most; n++ {
		if full[n] > 0 && full[n] >= 0.85*best {
			return n
		}
	}
	return 1
}

// flashWidth returns the head width rounded up as in the kernel.
func flashWidth(d uint64) uint64 {
	if d > 128 {
		return (d + 63) / 64 * 64
	}
	return (d + 31) / 32 * 32
}

// FlashBackward returns the memory of the backward pass: one number per query and head, the queries' gradient in
// float32, and with grouped heads the gradients of keys and values for every query head, which are then summed.
// wide is the size of one of these two gradients, or 0.
func FlashBackward(a Attention) (delta, dq, wide uint64) {
	rows := uint64(a.Batch*a.Heads) * ((uint64(a.Queries) + 127) / 128 * 128)
	if a.KeyHeads != a.Heads {
		wide = uint64(a.Batch * a.Heads * a.Keys * a.Width * a.Type.Bytes())
	}
	return rows * 4, rows * flashWidth(uint64(a.Width)) * 4, wide
}
