// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"

	"snug/internal/shadow"
)

// checkBatch stops a script whose batch size does not depend on the setup, because its figures would be the same
// for every batch. A survey has no batch yet.
func (in *interpreter) checkBatch() {
	if in.survey != nil || in.asked || in.rows0 == 0 || in.rows0 == in.Batch {
		return
	}
	panic(failure{path: in.File.Path, at: in.rowsAt, text: fmt.Sprintf("the code fixes the batch at %d; use a batch of %d, or let the script read it from an argument such as --batch-size", in.rows0, in.rows0)})
}

// Resized is the value of a variable in the script, and the one that it gets instead.
type Resized struct {
	From  int  // the value in the script
	To    int  // the value that it gets instead
	Batch bool // it is the batch size
}

// resized returns the value that a variable gets.
func (in *interpreter) resized(name string, v value) value {
	r, known := in.Variables[name]
	if n, ok := v.(int); !known || !ok || n != r.From {
		return v
	}
	in.asked, in.lengthUsed = in.asked || r.Batch, in.lengthUsed || !r.Batch
	return r.To
}

// ownBatch records the batch size of the first tokens that the script's own model is trained on. Some models expect
// the batch as the second dimension.
func (in *interpreter) ownBatch(o *instance, args arguments) {
	if in.rows0 > 0 || !in.World.GradEnabled() {
		return
	}
	for _, v := range append(args.pos[:len(args.pos):len(args.pos)], args.named...) {
		t, ok := v.(*shadow.Tensor)
		if !ok || t.Dim() < 2 {
			continue
		}
		if len(networks(o)) > 0 || len(in.namedParameters(o)) == 0 {
			return
		}
		if x := in.survey; x != nil {
			x.Code = true
			if x.Model.Where != "" { // modules around a model that the script loads; the survey goes on until it is called
				return
			}
		}
		in.trains(t, t.Dim() == 2 && t.DType() == shadow.Int64)
		in.rows0, in.rowsAt = t.Size(0), in.at
		if t.Size(1) == in.Batch {
			in.rows0 = in.Batch
		}
		return
	}
}
