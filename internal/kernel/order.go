// SPDX-License-Identifier: Apache-2.0

package kernel

// MaxDims is the maximum number of dimensions of a simulated tensor.
const MaxDims = 8

// Dims are the sizes of dimensions, or their strides in elements.
type Dims [MaxDims]int

// Order returns the n dimensions, fastest first, according to the strides of the operands:
// TensorIterator's reorder_dimensions (aten/src/ATen/TensorIterator.cpp). In a reduction the first operand
// is the result, with strides of zero in the reduced dimensions, which come first.
func Order(n int, size *Dims, operands []Dims, reduction bool) (perm Dims) {
	for i := range n {
		perm[i] = n - 1 - i
	}
	for i := 1; i < n; i++ {
		at := i
		for j := i - 1; j >= 0; j-- {
			c := compareDims(size, operands, perm[j], perm[at], reduction)
			if c > 0 {
				perm[j], perm[at] = perm[at], perm[j]
				at = j
			} else if c < 0 {
				break
			}
		}
	}
	return perm
}

// compareDims returns 1 if dimension a must come after b, -1 if before, and 0 if no operand decides.
func compareDims(size *Dims, operands []Dims, a, b int, reduction bool) int {
	if reduction && (operands[0][a] == 0) != (operands[0][b] == 0) {
		if operands[0][b] == 0 {
			return 1
		}
		return -1
	}
	for i := range operands {
		sa, sb := operands[i][a], operands[i][b]
		switch {
		case sa == 0 || sb == 0:
			continue
		case sa < sb:
			return -1
		case sa > sb:
			return 1
		case size[a] > size[b]:
			return 1
		}
	}
	return 0
}
