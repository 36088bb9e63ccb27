// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Weight decay that is added to the gradients (torch/optim, 2.11). In the foreach forms the sums are a separate
// list. AdamW decays weights in place instead, and fused kernels and loops make no list.

// decaying is an optimizer that supports weight decay of this kind.
type decaying interface{ setDecay() }

// Decay turns on weight decay for the parameter groups selected by on.
func Decay(o Optimizer, on []bool) {
	all, grouped := o.(groups)
	if !grouped {
		all = groups{o}
	}
	for i, g := range all {
		if d, ok := g.(decaying); ok && i < len(on) && on[i] {
			d.setDecay()
		}
	}
}

// decay is embedded in an optimizer. It records whether weights decay, and holds the sums of the group that is
// being updated.
type decay struct {
	on   bool
	sums []*shadow.Tensor
}

func (d *decay) setDecay() { d.on = true }

// begin releases the previous group's sums and makes the new group's.
func (d *decay) begin(w *shadow.World, group []*shadow.Tensor) {
	d.end()
	if d.on {
		d.sums = foreach(w, "_foreach_add", group)
	}
}

// end releases the sums.
func (d *decay) end() {
	dropList(d.sums)
	d.sums = nil
}
