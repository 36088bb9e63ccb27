// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Free drops an optimizer's states, as dropping its last reference does, and reports whether the states are
// known.
func Free(o Optimizer) bool {
	switch o := o.(type) {
	case groups:
		known := true
		for _, g := range o {
			known = Free(g) && known
		}
		return known
	case scaledGroups:
		return Free(o.groups)
	case stated:
		for _, of := range o.States() {
			dropAll(of)
		}
		if fused, ok := o.(*adamFused); ok {
			dropAll(fused.steps)
		}
		return true
	}
	return false
}

func dropAll(ts []*shadow.Tensor) {
	for _, t := range ts {
		t.Drop()
	}
}
