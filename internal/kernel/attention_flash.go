// SPDX-License-Identifier: Apache-2.0

package kernel

import "math"

// The memory of this kernel. AttentionBackend in attention.go decides when it is chosen.

// The flash kernel (aten/src/ATen/native/transformers/cuda/flash_attn, 2.11). It
// takes heads that are a multiple of eight wide.

// FlashPadding returns the number of elements by which a head is padded.
func FlashPadding(width int) int { return (8 - width%8) % 8 }

// FlashSplits returns the size of the partial results of the forward pass if keys are split over blocks because
// the queries alone leave the card idle: one number per row, and a row of the result; zeros if keys are
// not split.
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

// flashSplitCount returns the fewest splits that fill the card nearly as well as the best number does
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

// flashWidth returns the head's width as the kernel rounds it.
func flashWidth(d uint64) uint64 {
	if d > 128 {
		return (d + 63) / 64 * 64
	}
	return (d + 31) / 32 * 32
}

// FlashBackward returns the memory of the backward pass: one number per query and head, the queries' gradient
// in float32, and with grouped heads, if not zero, twice the gradient of keys or values for every query
// head, which are then summed.
func FlashBackward(a Attention) (delta, dq, wide uint64) {
	rows := uint64(a.Batch*a.Heads) * ((uint64(a.Queries) + 127) / 128 * 128)
	if a.KeyHeads != a.Heads {
		wide = uint64(a.Batch * a.Heads * a.Keys * a.Width * a.Type.Bytes())
	}
	return rows * 4, rows * flashWidth(uint64(a.Width)) * 4, wide
}
