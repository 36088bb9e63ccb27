// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"fmt"

	"snug/internal/kernel"
)

// MaxDims is the maximum number of dimensions of a tensor.
const MaxDims = kernel.MaxDims

// Shape holds the sizes or strides of a tensor's dimensions. It is a value: copying one allocates nothing.
type Shape struct {
	n int
	d kernel.Dims
}

// Dims makes a Shape.
func Dims(d ...int) Shape {
	s := Shape{n: len(d)}
	copy(s.d[:], d)
	return s
}

// Numel returns the number of elements.
func (s Shape) Numel() int {
	n := 1
	for _, d := range s.d[:s.n] {
		n *= d
	}
	return n
}

// at resolves a dimension that may count from the end, such as Python's -1.
func (s Shape) at(i int) int {
	if i < 0 {
		return i + s.n
	}
	return i
}

// String returns the dimensions in the form [2 128 768].
func (s Shape) String() string { return fmt.Sprint(s.d[:s.n]) }

// insert inserts a dimension before position i.
func (s Shape) insert(i, d int) Shape {
	copy(s.d[i+1:], s.d[i:s.n])
	s.d[i] = d
	s.n++
	return s
}

// Remove removes dimension i.
func (s Shape) Remove(i int) Shape {
	copy(s.d[i:], s.d[i+1:s.n])
	s.n--
	s.d[s.n] = 0 // unused entries must be 0, because shapes are compared with ==
	return s
}

// With returns s with dimension i, which may count from the end, set to d.
func (s Shape) With(i, d int) Shape {
	s.d[s.at(i)] = d
	return s
}

// contiguous returns the row-major strides of s.
func (s Shape) contiguous() Shape {
	out := Shape{n: s.n}
	step := 1
	for i := s.n - 1; i >= 0; i-- {
		out.d[i] = step
		step *= max(s.d[i], 1)
	}
	return out
}

// isContiguous is at::Tensor::is_contiguous: row-major, ignoring dimensions of size
// one.
func isContiguous(size, stride Shape) bool {
	step := 1
	for i := size.n - 1; i >= 0; i-- {
		if size.d[i] == 1 {
			continue
		}
		if stride.d[i] != step {
			return false
		}
		step *= size.d[i]
	}
	return true
}

// isDense is is_non_overlapping_and_dense: some order of the dimensions is
// contiguous.
func isDense(size, stride Shape) bool {
	var order [MaxDims]int
	n := 0
	for i := range size.n {
		if size.d[i] == 1 {
			continue
		}
		j := n
		for ; j > 0 && stride.d[order[j-1]] > stride.d[i]; j-- {
			order[j] = order[j-1]
		}
		order[j] = i
		n++
	}
	step := 1
	for _, i := range order[:n] {
		if stride.d[i] != step {
			return false
		}
		step *= size.d[i]
	}
	return true
}

// sameStrides reports whether two layouts of a shape are the same, ignoring dimensions of size one.
func sameStrides(size, a, b Shape) bool {
	for i := range size.n {
		if size.d[i] > 1 && a.d[i] != b.d[i] {
			return false
		}
	}
	return true
}

// broadcast returns the shape that two operands expand to.
func broadcast(a, b Shape) Shape {
	if a.n < b.n {
		a, b = b, a
	}
	for i := range b.n {
		j := a.n - b.n + i
		if a.d[j] == 1 {
			a.d[j] = b.d[i]
		} else if b.d[i] != 1 && b.d[i] != a.d[j] {
			panic(fmt.Sprintf("shadow: shapes %v and %v do not broadcast", a, b))
		}
	}
	return a
}

// Broadcast returns the shape that two shapes broadcast to.
func Broadcast(a, b Shape) Shape { return broadcast(a, b) }

// expandStrides returns the strides of an operand expanded to a larger shape, with zeros for repeated dimensions.
func expandStrides(size, stride, to Shape) Shape {
	out := Shape{n: to.n}
	for i := range size.n {
		j := to.n - size.n + i
		if size.d[i] == to.d[j] && size.d[i] != 1 {
			out.d[j] = stride.d[i]
		}
	}
	return out
}

// iterStrides returns the layout of a pointwise op's result, as TensorIterator chooses it: the operands' layout
// if they all agree, otherwise the dimensions in the order of the first operand that distinguishes them.
func iterStrides(shape Shape, operands ...*Tensor) Shape {
	same := true
	for _, t := range operands {
		if t.size != shape || !t.contiguous() {
			same = false
			break
		}
	}
	if same {
		return shape.contiguous()
	}
	if s, ok := sharedLayout(shape, operands); ok {
		return s
	}
	return sortedLayout(shape, operands)
}

// sharedLayout is TensorIterator's fast path: if operands of the same shape are all dense in the same order, the
// result has that order.
func sharedLayout(shape Shape, operands []*Tensor) (Shape, bool) {
	first := operands[0]
	for _, t := range operands {
		if t.size != shape || t.stride != first.stride || !isDense(t.size, t.stride) {
			return Shape{}, false
		}
	}
	return first.stride, true
}

// sortedLayout sorts the dimensions by the operands' strides and returns dense strides in that order.
func sortedLayout(shape Shape, operands []*Tensor) Shape {
	var strides [4]kernel.Dims
	for i, t := range operands {
		strides[i] = expandStrides(t.size, t.stride, shape).d
	}
	perm := kernel.Order(shape.n, &shape.d, strides[:len(operands)], false)
	out, step := Shape{n: shape.n}, 1
	for _, i := range perm[:shape.n] {
		out.d[i] = step
		step *= max(shape.d[i], 1)
	}
	return out
}

// Append adds a dimension at the end.
func (s Shape) Append(d int) Shape { return s.insert(s.n, d) }

// Chunked splits dimension i, of the given length, into chunks.
func (s Shape) Chunked(i, chunk, length int) Shape {
	return s.With(i, chunk).insert(i, length/chunk)
}
