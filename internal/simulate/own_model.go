// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	"snug/internal/script"
	"snug/internal/shadow"
)

// count sets the parameter counts of the model: the setup's, or one that a script builds itself.
func (r *run) count(res *Result) {
	trained := r.own
	if r.builder != nil {
		res.Params, res.Trainable = r.builder.Count()
		trained = r.builder.Trainable()
		if r.wrapper != nil { // the wrapper may need gradients of frozen parameters too
			res.Trainable = numel(r.trained)
		}
	} else {
		res.Params = numel(r.own)
		res.Trainable = res.Params
	}
	for _, p := range trained {
		res.Gradients += p.Bytes()
	}
}

// numel returns the total number of elements of ps.
func numel(ps []*shadow.Tensor) (n int) {
	for _, p := range ps {
		n += p.Numel()
	}
	return n
}

// ownNotes returns notes that the script's own model is simulated instead of the setup's, and which parts of it
// are not.
func (r *run) ownNotes(res *script.Result) (out []string) {
	if r.builder != nil {
		return nil
	}
	out = append(out, fmt.Sprintf("%s builds its own model, which is simulated from its code; the setup's model %s is not used", r.s.Script.Path(), r.s.Model.Title()))
	if without := len(res.Trained) - res.Graded; without > 0 {
		out = append(out, fmt.Sprintf("%s: %d of the %d parameters have no gradient at the first update; if the model uses them, the run needs more memory than shown", r.s.Script.Path(), without, len(res.Trained)))
	}
	return out
}
