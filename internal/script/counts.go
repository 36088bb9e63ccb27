// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Counts for metrics: torch.bincount and torch.diag, as for a matrix of confusions.

func registerCounts() {
	tensorMethods["bincount"], tensorMethods["diag"] = bincount, diag
	for _, name := range []string{"bincount", "diag"} {
		natives["torch."+name] = onTensor(name)
	}
}

// bincount implements torch.bincount(t, weights, minlength). The largest number is assumed to be below minlength.
func bincount(in *interpreter, t *shadow.Tensor, a arguments) value {
	n, ok := a.or(1, "minlength", 0).(int)
	dt := shadow.Int64
	if w := optional(a, 0, "weights"); w != nil {
		if dt = shadow.Float64; w.DType() == shadow.Float32 {
			dt = shadow.Float32
		}
	}
	if !ok || n == 0 {
		return in.lost(t, "bincount without minlength")
	}
	in.World.Op("bincount")
	in.World.Scratch(8) // the smallest and the largest number
	in.World.Scratch(8)
	return in.World.Empty(shadow.Dims(n), dt).Hold()
}

// diag implements torch.diag(t) without an offset: a copy of a matrix's diagonal, or a matrix with the diagonal t.
func diag(in *interpreter, t *shadow.Tensor, a arguments) value {
	if a.or(0, "diagonal", 0) != 0 || t.RequiresGrad() || t.Dim() > 2 || t.Dim() == 0 {
		return in.lost(t, "diag")
	}
	size := shadow.Dims(t.Size(0), t.Size(0))
	if t.Dim() == 2 {
		size = shadow.Dims(min(t.Size(0), t.Size(1)))
	}
	in.World.Op("diagonal_copy")
	return in.World.Empty(size, t.DType()).Hold()
}
