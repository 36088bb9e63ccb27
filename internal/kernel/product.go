// SPDX-License-Identifier: Apache-2.0

package kernel

import "math"

// productTile is the side of the square of results that one multiprocessor works
// on in a matrix product.
const productTile = 128

// ProductWaste returns the factor by which a product of b matrices with m by n results takes longer because
// its tiles fill the card in whole waves and its edges fill whole tiles.
func ProductWaste(b, m, n, sms int) float64 {
	rows, cols := CeilDiv(m, productTile), CeilDiv(n, productTile)
	tiles := float64(rows * cols * b)
	padded := tiles * productTile * productTile / (float64(m) * float64(n) * float64(b))
	waves := tiles / float64(sms)
	if waves < 1 { // few tiles: the sum is split among the idle multiprocessors
		return padded
	}
	return padded * math.Ceil(waves) / waves
}

// Grouped returns the workspace of the CUTLASS kernel that multiplies each group of rows by its own matrix, in
// bfloat16 on Hopper and data-centre Blackwell: its arguments (pointers in pairs, shapes, strides), and
// four tensor maps for each multiprocessor. On other cards and for other types ok is false: cuBLAS
// multiplies one group after the other.
func (r Rules) Grouped(t Type, groups int) (args, maps uint64, ok bool) {
	if t != BFloat16 || r.Capability/10 != 9 && r.Capability/10 != 10 {
		return 0, 0, false
	}
	return uint64((groups+1)/2*2*3*8 + groups*3*4 + groups*3*8), uint64(r.SMs) * 4 * 128, true
}

// AddsIntoProduct reports whether a product of factors of type t can be added to an existing result of
// type into (addmm with out=). From 2.8 on, 16-bit factors can add into float32.
func (r Rules) AddsIntoProduct(t, into Type) bool {
	wide := into == Float32 && r.Torch >= 208
	return t.half() && r.Capability >= 80 && (wide || into == t)
}
