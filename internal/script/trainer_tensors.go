// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Tensor methods that losses and evaluations use.

// tensorSum implements t.sum(dim, keepdim, dtype).
func tensorSum(in *interpreter, t *shadow.Tensor, a arguments) value {
	dt, ok := a.or(-1, "dtype", nil).(dtypeValue)
	if !ok {
		return tensorReduce((*shadow.Tensor).Sum)(in, t, a)
	}
	keep, _ := a.or(-1, "keepdim", false).(bool)
	return t.SumAs(shadow.DType(dt), keep, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
}

// isInfinite implements torch.isinf: t.abs() == inf.
func isInfinite(in *interpreter, t *shadow.Tensor, _ arguments) value {
	return t.Abs().Compare("==").Hold()
}

// dimsAfter returns the number of dimensions that an index has after its ellipsis.
func dimsAfter(keys []value) int {
	n, after := 0, false
	for _, k := range keys {
		switch k.(type) {
		case ellipsis:
			n, after = 0, true
		case nil:
		default:
			if after {
				n++
			}
		}
	}
	return n
}
