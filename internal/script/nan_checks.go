// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// decided reports whether a test is true. For tests for NaN, infinity or zero on the card it assumes a healthy
// training run: the number is finite and not zero.
func decided(test pysrc.Expr, v value) (yes, known bool) {
	if yes, known = truth(v); known {
		return yes, true
	}
	switch e := test.(type) {
	case *pysrc.Call:
		return soundCall(e)
	case *pysrc.Compare:
		if _, onCard := v.(*shadow.Tensor); onCard && againstZero(e) {
			return e.Ops[0] == "!=", e.Ops[0] == "!=" || e.Ops[0] == "=="
		}
	}
	return false, false
}

// soundCall evaluates torch.isnan(x) and similar calls, optionally followed by .any(), .all() or .item().
func soundCall(e *pysrc.Call) (yes, known bool) {
	name := ""
	switch f := e.Func.(type) {
	case *pysrc.Name:
		name = f.ID
	case *pysrc.Attribute:
		name = f.Name
		if inner, ok := f.X.(*pysrc.Call); ok && (name == "any" || name == "all" || name == "item") {
			return soundCall(inner)
		}
	}
	return name == "isfinite", name == "isfinite" || name == "isnan" || name == "isinf"
}

// againstZero reports whether e is a single comparison with zero.
func againstZero(e *pysrc.Compare) bool {
	n, ok := e.Rights[0].(*pysrc.Number)
	return ok && len(e.Ops) == 1 && n.Float == 0
}
