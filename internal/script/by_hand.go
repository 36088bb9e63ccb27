// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Scripts without an optimizer update their parameters themselves: p.data.add_(p.grad, alpha=-lr), or p -= lr * p.grad
// without gradients.

// dataOf is a tensor that an attribute .data returned last, and the tensor that has the attribute.
type dataOf struct{ data, of *shadow.Tensor }

// wroteByHand counts an update if a script without an optimizer writes into a parameter that has a gradient. The first
// write after a backward pass counts.
func (in *interpreter) wroteByHand(t *shadow.Tensor) {
	if t == in.data.data {
		t = in.data.of
	} else if in.World.GradEnabled() {
		return
	}
	r := &in.result
	if in.optimizers > 0 || r.Backwards == 0 || t.Grad() == nil || !t.IsLeaf() {
		return
	}
	if r.Updates == 0 || r.Backwards > in.counted {
		in.mark(Update)
		in.countUpdate()
		in.forwards()
	}
	if r.Updates == 1 {
		r.Trained = append(r.Trained, t)
		r.Graded++
	}
}
