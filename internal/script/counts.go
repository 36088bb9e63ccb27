// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Counts for metrics: torch.bincount, as for a matrix of confusions.

func registerCounts() {
	tensorMethods["bincount"] = bincount
	natives["torch.bincount"] = onTensor("bincount")
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
