// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Operators on tensors in host memory, of which only shape and dtype are known.

// hostSizes computes l op r from shapes and types alone, and reports whether l or r is a host tensor.
func hostSizes(op string, l, r value) (value, bool) {
	a, okA := l.(*hostTensor)
	b, okB := r.(*hostTensor)
	switch {
	case okA && okB:
		return hostPair(op, a, b), true
	case okA:
		return &hostTensor{size: a.size, dtype: hostResult(op, a.dtype, r)}, true
	case okB:
		return &hostTensor{size: b.size, dtype: hostResult(op, b.dtype, l)}, true
	}
	return nil, false
}

// hostPair returns a op b. The result is unknown if op is a matrix product or the shapes do not match.
func hostPair(op string, a, b *hostTensor) value {
	size := broadcastSizes(a.size, b.size)
	if size == nil || op == "@" {
		return unknown{}
	}
	dt := a.dtype
	if dt == shadow.Bool || b.dtype.Floating() && !dt.Floating() {
		dt = b.dtype
	}
	return &hostTensor{size: size, dtype: hostResult(op, dt, nil)}
}

// hostResult returns the dtype of the result of op on a tensor of type dt and a number.
func hostResult(op string, dt shadow.DType, with value) shadow.DType {
	if dt.Floating() {
		return dt
	}
	if _, isFloat := with.(float64); isFloat || op == "/" {
		return shadow.Float32
	}
	if _, isInt := with.(int); isInt && dt == shadow.Bool {
		return shadow.Int64
	}
	return dt
}

// hostComparison compares two host tensors, or a host tensor and a number; it returns false for all other values.
func hostComparison(l, r value) (value, bool) {
	a, okA := l.(*hostTensor)
	b, okB := r.(*hostTensor)
	var size []int
	switch {
	case okA && okB:
		size = broadcastSizes(a.size, b.size)
	case okA:
		size = a.size
	case okB:
		size = b.size
	default:
		return nil, false
	}
	if size == nil {
		return unknown{}, true
	}
	return &hostTensor{size: size, dtype: shadow.Bool}, true
}

// hostWhere implements torch.where(condition, input, other) in host memory.
func hostWhere(a arguments) value {
	cond, ok := a.or(0, "condition", nil).(*hostTensor)
	if !ok {
		return unknown{}
	}
	x, y := a.or(1, "input", nil), a.or(2, "other", nil)
	v, ok := hostSizes("+", x, y)
	chosen, isTensor := v.(*hostTensor)
	if !ok || !isTensor {
		return unknown{}
	}
	if size := broadcastSizes(cond.size, chosen.size); size != nil {
		return &hostTensor{size: size, dtype: chosen.dtype}
	}
	return unknown{}
}

// broadcastSizes returns the broadcast shape of a and b, or nil if they do not match.
func broadcastSizes(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append([]int{}, a...)
	for i, n := range b {
		at := len(a) - len(b) + i
		switch {
		case out[at] == 1:
			out[at] = n
		case n != 1 && n != out[at]:
			return nil
		}
	}
	return out
}
