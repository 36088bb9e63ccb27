// SPDX-License-Identifier: Apache-2.0

package kernel

import "math"

// productTiles are the tiles of the result that one multiprocessor computes in a matrix product, and the share of
// the peak rate that each reaches: small tiles load more data per operation.
var productTiles = [...]struct {
	rows, cols int
	share      float64
}{{256, 128, 1}, {128, 256, 1}, {192, 192, 1}, {128, 128, 0.92}, {128, 64, 0.75}, {64, 128, 0.75}, {64, 64, 0.55}}

// productStart is the overhead of starting and finishing a tile, in steps along the summed dimension.
const productStart = 64

// ProductWaste returns the factor by which b products of m by k and k by n matrices are slower than the card's
// rate: edges fill whole tiles, tiles fill the card in whole waves, and each tile takes time to start. cuBLAS
// chooses the tile that minimizes this.
func ProductWaste(b, m, n, k, sms int) float64 {
	best := math.Inf(1)
	for _, t := range productTiles {
		tiles := float64(CeilDiv(m, t.rows) * CeilDiv(n, t.cols) * b)
		padded := tiles * float64(t.rows*t.cols) / (float64(m) * float64(n) * float64(b))
		if waves := tiles / float64(sms); waves > 1 { // with at most one wave, the sum is split among idle multiprocessors
			padded *= math.Ceil(waves) / waves
		}
		best = min(best, padded/t.share)
	}
	return best * float64(k+productStart) / float64(k)
}

// Grouped returns the workspace of the CUTLASS kernel that multiplies each group of rows by its own matrix, in
// bfloat16 on Hopper and data-center Blackwell: its arguments (pointers in pairs, shapes, strides), and
// four tensor maps for each multiprocessor. On other cards and for other types ok is false, and cuBLAS multiplies
// one group after the other.
func (r Rules) Grouped(t Type, groups int) (args, maps uint64, ok bool) {
	if t != BFloat16 || r.Capability/10 != 9 && r.Capability/10 != 10 {
		return 0, 0, false
	}
	return uint64((groups+1)/2*2*3*8 + groups*3*4 + groups*3*8), uint64(r.SMs) * 4 * 128, true
}

// AddsIntoProduct reports whether a product of factors of type t can be added to an existing result of
// type into (addmm with out=). Since 2.8, products of 16-bit factors can be added to float32.
func (r Rules) AddsIntoProduct(t, into Type) bool {
	wide := into == Float32 && r.Torch >= 208
	return t.half() && r.Capability >= 80 && (wide || into == t)
}
